// Baseline of tools/bench/gateway: a reverse proxy that forwards requests to several servers in turn and only pipes the
// bytes. The parent process passes the servers' URLs at the start and receives the proxy's URL.
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

const servers = process.argv.slice(2).map((url) => new URL(url));
const agent = new Agent({ keepAlive: true, scheduling: "lifo" });
let turn = 0;

const proxy = createServer((asked, answer) => {
  const { hostname, port } = servers[turn++ % servers.length];
  const { method, url, headers } = asked;
  const passed = request({ agent, hostname, port, method, path: url, headers }, (answered) => {
    answer.writeHead(answered.statusCode ?? 502, answered.headers);
    answered.pipe(answer);
  });
  passed.on("error", () => answer.destroy());
  answer.on("close", () => passed.destroy());
  asked.pipe(passed);
});
proxy.listen(0, "127.0.0.1", () => {
  // Safe cast: a server that listens on TCP has an address with a port.
  const { port } = proxy.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}`);
});
process.on("disconnect", () => process.exit());
