import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, Socket, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { trackAnswers, refuseConnection } from "./refuse-connection.ts";

test("closes a connection that was reset or cannot be answered any more", () => {
  const reset = new Socket();
  refuseConnection(Object.assign(new Error("reset"), { code: "ECONNRESET" }), reset);
  assert.ok(reset.destroyed);
  const ended = new Socket();
  ended.end();
  refuseConnection(new Error("malformed"), ended);
  assert.ok(ended.destroyed);
});

/**
 * Sends `sent`, then `more` once the server has begun an answer. Returns all bytes that the client receives. The server
 * ends its answer only after it has handled the client's faulty input.
 */
async function answeredTo(t: TestContext, sent: string, more: string): Promise<string> {
  const server = createServer({ requestTimeout: 50, headersTimeout: 50, connectionsCheckingInterval: 10 });
  t.after(() => server.close());
  trackAnswers(server);
  server.on("request", (_, response) => {
    response.writeHead(200, { "content-length": 10 });
    response.write("begun");
    server.once("clientError", (error, socket) => {
      // Safe cast: the connections of an HTTP server are network sockets.
      refuseConnection(error, socket as Socket);
      response.end(" over");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // Safe cast: the server listens on a TCP port.
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => undefined);
  let text = "";
  client.setEncoding("latin1").on("data", (piece: string) => {
    text += piece;
    if (text.endsWith("begun")) client.write(more);
  });
  client.write(sent);
  await new Promise((resolve) => client.once("close", resolve));
  return text;
}

const late = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n{}";

test("writes nothing into an answer in progress, and finishes it, if its request or the next one is late", async (t) => {
  const whole = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
  for (const [sent, more] of [
    [late, ""],
    [whole, "POST / HTTP/1.1\r\nhost: a\r\nconte"],
  ] as const)
    assert.match(await answeredTo(t, sent, more), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nbegun over$/);
});

test("breaks off an answer in progress after malformed input, without writing into it", async (t) => {
  const whole = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
  assert.match(await answeredTo(t, whole, "no request\r\n\r\n"), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nbegun$/);
});
