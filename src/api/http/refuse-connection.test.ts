import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, Socket, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { noteAnswers, refuseConnection } from "./refuse-connection.ts";

test("a connection that its client has reset, or that cannot be answered, is given up", () => {
  const reset = new Socket();
  refuseConnection(Object.assign(new Error("reset"), { code: "ECONNRESET" }), reset);
  assert.ok(reset.destroyed);
  const ended = new Socket();
  ended.end();
  refuseConnection(new Error("malformed"), ended);
  assert.ok(ended.destroyed);
});

/** What comes back for bytes of a client that never ends its request, from a server whose answer has begun by then. */
async function answeredTo(t: TestContext, sent: string, more: string): Promise<string> {
  const server = createServer({ requestTimeout: 50, headersTimeout: 50, connectionsCheckingInterval: 10 });
  t.after(() => server.close());
  noteAnswers(server);
  server.on("request", (_, response) => {
    response.writeHead(200, { "content-length": 10 });
    response.write("begun");
    server.once("clientError", (error, socket) => {
      // A server's connections are of the network.
      refuseConnection(error, socket as Socket);
      response.end(" over");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // It listens on a port.
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

test("an answer that has begun is not written into where its request, or one behind it, is late", async (t) => {
  const whole = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
  for (const [sent, more] of [
    [late, ""],
    [whole, "POST / HTTP/1.1\r\nhost: a\r\nconte"],
  ] as const)
    assert.match(await answeredTo(t, sent, more), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nbegun over$/);
});

test("an answer that has begun breaks off where something malformed follows, and nothing stands in it", async (t) => {
  const whole = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
  assert.match(await answeredTo(t, whole, "no request\r\n\r\n"), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nbegun$/);
});
