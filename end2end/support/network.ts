// A network between browser and server that tests can cut.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { SERVER } from './addresses.ts';

export interface Network {
  /** The address of the server behind the network. */
  address: string;
  /** Resets all connections, and every new one until `mend`. Returns the number of connections between browser and server. */
  cut(): number;
  /** Lets new connections through. */
  mend(): void;
}

/** Starts a proxy in front of the server of this worker. It ends with the worker. */
export async function network(): Promise<Network> {
  const { hostname, port } = new URL(SERVER!);
  const sides = new Set<Socket>();
  let isCut = false;
  const pipe = (from: Socket, to: Socket) => {
    sides.add(from);
    from.pipe(to);
    // The event `close` follows.
    from.on('error', () => undefined);
    from.on('close', (hasFailed) => {
      sides.delete(from);
      if (hasFailed) to.destroy();
      else to.end();
    });
  };
  const proxy = createServer((browser) => {
    if (isCut) {
      browser.resetAndDestroy();
      return;
    }
    const server = connect(Number(port), hostname);
    pipe(browser, server);
    pipe(server, browser);
  });
  await new Promise<void>((listens) => void proxy.listen(0, hostname, listens));
  proxy.unref();
  return {
    address: `http://${hostname}:${(proxy.address() as AddressInfo).port}`,
    cut: () => {
      isCut = true;
      const connections = sides.size / 2;
      sides.forEach((side) => side.resetAndDestroy());
      return connections;
    },
    mend: () => void (isCut = false),
  };
}
