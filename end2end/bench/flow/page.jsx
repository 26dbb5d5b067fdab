// A React Flow canvas with the nodes and lines of the template `joined` (see `support/shapes.ts`), in the same layout.
// The address has their number, and `culled` if only visible elements are rendered.
import { Handle, Position, ReactFlow, useEdgesState, useNodesState } from '@xyflow/react';
import '@xyflow/react/dist/style.css';
import { createRoot } from 'react-dom/client';

const query = new URLSearchParams(location.search);
const isCulled = query.has('culled');

const CARD = { width: 216, height: 88 };
const FRAME = { width: 712, height: 792 };
const MEMBERS = 19;
const COLUMNS = 3;
const GAP = 16;

function drawing(count) {
  const nodes = [];
  const edges = [];
  const frames = Math.ceil(count / (MEMBERS + 1));
  const across = Math.ceil(Math.sqrt(frames));
  for (let frame = 0; frame < frames; frame += 1) {
    nodes.push({
      id: `net${frame}`,
      type: 'frame',
      position: { x: (frame % across) * (FRAME.width + 56), y: Math.floor(frame / across) * (FRAME.height + 56) },
      data: {},
      style: FRAME,
    });
    for (let member = 0; member < MEMBERS && nodes.length < count; member += 1) {
      const server = `server${frame * MEMBERS + member}`;
      nodes.push({
        id: server,
        type: 'card',
        parentId: `net${frame}`,
        position: {
          x: GAP + (member % COLUMNS) * (CARD.width + GAP),
          y: 48 + Math.floor(member / COLUMNS) * (CARD.height + GAP),
        },
        data: {},
        style: CARD,
      });
      if (member > 0) edges.push({ id: server, type: 'smoothstep', source: server, target: `server${frame * MEMBERS + member - 1}` });
      else if (frame > 0) edges.push({ id: server, type: 'smoothstep', source: server, target: `net${frame - 1}` });
    }
  }
  return { nodes, edges };
}

function Ends() {
  return (
    <>
      <Handle type="target" position={Position.Left} />
      <Handle type="source" position={Position.Right} />
    </>
  );
}

function Card({ id }) {
  return (
    <div className="card">
      <span className="icon" />
      <div>
        <div>{id}</div>
        <small>debian-12 · m1.small</small>
      </div>
      <Ends />
    </div>
  );
}

function Frame({ id }) {
  return (
    <div className="frame">
      <header><span className="icon" /> {id}</header>
      <Ends />
    </div>
  );
}

const kinds = { card: Card, frame: Frame };
const first = drawing(Number(query.get('nodes')));

function Page() {
  const [nodes, , onNodesChange] = useNodesState(first.nodes);
  const [edges, , onEdgesChange] = useEdgesState(first.edges);
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={kinds}
      onNodesChange={onNodesChange}
      onEdgesChange={onEdgesChange}
      onlyRenderVisibleElements={isCulled}
      panOnDrag={[0, 1]}
      minZoom={0.02}
      fitView
      onInit={(flow) => { window.flow = flow; }}
    />
  );
}

createRoot(document.getElementById('root')).render(<Page />);
