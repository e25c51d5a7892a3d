// For tests: a webhook receiver on this machine. It stores the requests that it gets; the test decides how it answers
// them.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  /** Requests received, in the order of their arrival. */
  readonly received: readonly ReceivedRequest[];
  /** Resolves when at least `count` requests have arrived. */
  came(count: number): Promise<void>;
}

/**
 * Starts a receiver, which listens until the test ends.
 *
 * @param answer answers a request; by default with status 204
 */
export async function receive(
  context: TestContext,
  answer: (response: ServerResponse, request: ReceivedRequest) => void = (response) =>
    void response.writeHead(204).end(),
): Promise<Receiver> {
  const received: ReceivedRequest[] = [];
  let waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const pieces: Buffer[] = [];
      for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
      const { method = "", url: path = "", headers } = request;
      const one = { method, path, headers, body: Buffer.concat(pieces).toString() };
      received.push(one);
      answer(response, one);
      for (const { count, resolve } of waiting) if (received.length >= count) resolve();
      waiting = waiting.filter(({ count }) => received.length < count);
    })();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    // Safe cast: the server listens on a TCP port.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    came: (count) =>
      new Promise((resolve) => {
        if (received.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
  };
}
