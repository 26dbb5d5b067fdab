// A host of git repositories with TLS, where the server under test reads catalogue items.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { dirname, join } from 'node:path';
import { RESTART } from './addresses.ts';

/** True if the server under test reads repositories of such a host. */
export const readsGit = Boolean(RESTART);

/** Serves the repositories in a folder with git's own program for web servers, until the server that it returns is closed. */
export async function serveGit(folder: string, port: number): Promise<Server> {
  const key = join(folder, 'key.pem');
  // The file of STACKLOOM_GIT_CA, beside the server's other files.
  const certificate = join(dirname(RESTART!), 'git-ca.pem');
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
    '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate,
  ], { stdio: 'ignore' });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (request, response) => {
    const url = new URL(request.url ?? '/', 'https://localhost');
    const header = (name: string) => request.headers[name]?.toString();
    const git = spawn('git', ['http-backend'], {
      env: {
        ...process.env,
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        REQUEST_METHOD: request.method,
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: header('content-type'),
        CONTENT_LENGTH: header('content-length'),
        HTTP_CONTENT_ENCODING: header('content-encoding'),
        GIT_PROTOCOL: header('git-protocol'),
      },
    });
    request.pipe(git.stdin);
    const parts: Buffer[] = [];
    git.stdout.on('data', (part: Buffer) => parts.push(part));
    git.on('close', () => {
      const output = Buffer.concat(parts);
      const end = output.indexOf('\r\n\r\n');
      for (const line of output.subarray(0, end).toString().split('\r\n')) {
        const colon = line.indexOf(':');
        const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
        if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.end(output.subarray(end + 4));
    });
  });
  await new Promise<void>((ready) => server.listen(port, '127.0.0.1', ready));
  return server;
}
