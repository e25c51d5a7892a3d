// A proxy in front of two servers: the prefill server computes each prompt, and the decode server generates the
// answer. It works like vLLM's toy proxy, so each of the two proxies also works with the other project's servers.
//
//   node dist/examples/prefill-decode-proxy.js --prefill http://10.0.0.1:8000 --decode http://10.0.0.2:8000 --port 9000
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

/** URLs of the two servers. */
export interface Pair {
  readonly prefill: string;
  readonly decode: string;
}

const paths = ["/v1/chat/completions", "/v1/completions"];

/**
 * Creates a proxy that does not listen yet. It passes on the client's key, which must therefore be valid on both
 * servers.
 */
export function createProxy(pair: Pair): Server {
  return createServer((request, response) => {
    answer(pair, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end(JSON.stringify({ error: { message: String(error) } }));
    });
  });
}

async function answer(pair: Pair, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? "";
  if (request.method !== "POST" || !paths.includes(path)) return void response.writeHead(404).end();
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const ask = (server: string, body: object): Promise<Response> =>
    fetch(new URL(path, server), {
      method: "POST",
      signal: gone.signal,
      headers: { "content-type": "application/json", authorization: request.headers.authorization ?? "" },
      body: JSON.stringify(body),
    });
  const body = JSON.parse(await textOf(request)) as Readonly<Record<string, unknown>>;
  const prefilled = await ask(pair.prefill, prefillOf(body));
  if (!prefilled.ok) return relay(prefilled, response);
  const { kv_transfer_params: params } = (await prefilled.json()) as {
    readonly kv_transfer_params?: unknown;
  };
  // Without transfer parameters, the decode server computes the prompt itself.
  await relay(await ask(pair.decode, { ...body, kv_transfer_params: params ?? null }), response);
}

/**
 * Returns the request for the prefill server: it computes the prompt, holds its KV cache for the decode server, and
 * generates one token.
 */
function prefillOf(body: Readonly<Record<string, unknown>>): object {
  const { stream_options: _, min_tokens: __, max_completion_tokens: ___, ...rest } = body;
  return { ...rest, stream: false, max_tokens: 1, kv_transfer_params: { do_remote_decode: true } };
}

/** Streams the server's response to the client. */
async function relay(answer: Response, response: ServerResponse): Promise<void> {
  const { status, headers, body } = answer;
  const kept = ["content-type", "x-request-id", "x-hone-notice", "retry-after"];
  const shown = kept.flatMap((name) => (headers.has(name) ? [[name, headers.get(name) ?? ""]] : []));
  response.writeHead(status, Object.fromEntries(shown));
  await pipeline(body === null ? [] : Readable.fromWeb(body), response);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const text = { type: "string" } as const;
  const {
    prefill,
    decode,
    port = "9000",
  } = parseArgs({ options: { prefill: text, decode: text, port: text } }).values;
  if (prefill === undefined || decode === undefined)
    throw new Error("--prefill and --decode name the two servers");
  createProxy({ prefill, decode }).listen(Number(port), "127.0.0.1", () => {
    process.stdout.write(`listening on http://127.0.0.1:${port}\n`);
  });
}
