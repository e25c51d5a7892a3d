// For tests of client libraries: a listening server that all tests of a file share.
import { after, test as run } from "node:test";
import { fakeServer } from "./fake-server.ts";

/**
 * Starts the server, which closes after the file's tests.
 *
 * @returns the server, and a function that defines a test, before which the fake chat gets its usual script again
 */
export async function scriptedServer() {
  const server = await fakeServer();
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  after(() => server.close());
  const { script } = server.chat;
  const usual = { ...script };
  const test = (name: string, check: () => Promise<void>): void => {
    void run(name, async () => {
      Object.assign(script, usual);
      await check();
    });
  };
  return { server, test };
}
