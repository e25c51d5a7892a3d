// For tests: a loopback server with the API of the Hugging Face hub, according to its library and documentation. It has
// revisions, file trees in pages, ranges of files, and redirects to a store of large files. Tests can make single
// requests fail.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export interface HubRepository {
  readonly files: Readonly<Record<string, Buffer>>;
  /** Returns true for the path of a file that is in the store of large files; by default, true for weights. */
  readonly isLarge?: (path: string) => boolean;
  /**
   * True if large files are in the hub's newer store (Xet). Clients that ask for that store get its address instead of
   * a redirect.
   */
  readonly isXet?: boolean;
  readonly card?: Readonly<Record<string, unknown>>;
  /** Token that a client must have to see the repository; absent if all clients see it. */
  readonly token?: string;
  /** True if users must first accept the repository's conditions. No client of the tests has accepted them. */
  readonly isGated?: boolean;
}

/** A fault that applies once, to the next matching request. */
export interface Fault {
  /** Matches the path of the request. */
  readonly at: RegExp;
  /** Sends a response in place of the hub. */
  readonly answer?: (response: ServerResponse) => void;
  /** Changes how a file's bytes are sent. Requests for the file's size are not affected. */
  readonly twist?: Twist;
}

/** Changes to how the bytes of a file are sent. */
export interface Twist {
  /** Number of bytes after which the connection is cut. */
  readonly cutAfter?: number;
  /** Number of bytes after which nothing more is sent. */
  readonly silentAfter?: number;
  /** True to send the whole file regardless of the requested range. */
  readonly ignoresRange?: boolean;
  /** Content that is sent instead of the file's. */
  readonly content?: Buffer;
}

export interface SeenRequest {
  readonly path: string;
  readonly range: string | null;
  readonly authorization: string | null;
}

export interface LoopbackHub {
  readonly endpoint: string;
  /** Address of the store of large files. */
  readonly store: string;
  readonly commit: string;
  /** Recorded requests to the hub, and to the store of large files. */
  readonly requests: { readonly hub: SeenRequest[]; readonly store: SeenRequest[] };
  /** Adds a fault to the queue. */
  fail(fault: Fault): void;
}

export const commitOfTests = "0123456789abcdef0123456789abcdef01234567";

/** Starts a hub. It stops when the test ends. */
export async function loopbackHub(
  t: TestContext,
  repositories: Readonly<Record<string, HubRepository>>,
  { pageSize = 3 }: { readonly pageSize?: number } = {},
): Promise<LoopbackHub> {
  const faults: Fault[] = [];
  const requests = { hub: [] as SeenRequest[], store: [] as SeenRequest[] };
  const twistOf = (request: IncomingMessage, response: ServerResponse): Twist | "answered" => {
    const isProbe = request.headers.range === "bytes=0-0";
    const index = faults.findIndex(
      ({ at, twist }) => at.test(request.url ?? "") && !(isProbe && twist !== undefined),
    );
    const [fault] = index < 0 ? [] : faults.splice(index, 1);
    fault?.answer?.(response);
    return fault?.answer === undefined ? (fault?.twist ?? {}) : "answered";
  };
  const store = await listening(t, (request, response) => {
    requests.store.push(seen(request));
    const twist = twistOf(request, response);
    if (twist === "answered") return;
    const [, digest = ""] = /^\/blobs\/(\w+)\?signed=yes$/.exec(request.url ?? "") ?? [];
    const all = Object.values(repositories).flatMap(({ files }) => Object.values(files));
    const content = all.find((one) => sha256(one) === digest);
    if (content === undefined) return refuse(response, 403, {});
    sendFile(request, response, { content, etag: digest, ...twist });
  });
  const hub = await listening(t, (request, response) => {
    requests.hub.push(seen(request));
    const twist = twistOf(request, response);
    if (twist === "answered") return;
    const { pathname, searchParams } = new URL(request.url ?? "", hub);
    const [, name = "", rest = ""] = /^\/(?:api\/models\/)?([^/]+\/[^/]+)\/(.*)$/.exec(pathname) ?? [];
    const repository = repositories[name];
    const token = request.headers.authorization?.replace("Bearer ", "") ?? null;
    if (repository === undefined || (repository.token !== undefined && repository.token !== token))
      return refuse(response, token === null ? 401 : 404, { "x-error-code": "RepoNotFound" });
    if (repository.isGated === true && !pathname.startsWith("/api/"))
      return refuse(response, 403, { "x-error-code": "GatedRepo" });
    const [kind = "", revision = "", ...path] = rest.split("/").map(decodeURIComponent);
    if (!["main", "v1.0", commitOfTests].includes(revision))
      return refuse(response, 404, { "x-error-code": "RevisionNotFound" });
    if (kind === "revision") return sendJson(response, infoOf(name, repository));
    if (kind === "tree") {
      const from = Number(searchParams.get("cursor") ?? 0);
      const entries = treeOf(repository);
      const next = `<${hub}${pathname}?recursive=true&expand=false&cursor=${from + pageSize}>; rel="next"`;
      const headers: Record<string, string> = from + pageSize < entries.length ? { link: next } : {};
      return sendJson(response, entries.slice(from, from + pageSize), headers);
    }
    const content = repository.files[path.join("/")];
    if (kind !== "resolve" || content === undefined)
      return refuse(response, 404, { "x-error-code": "EntryNotFound" });
    if (!isLarge(repository, path.join("/")))
      return sendFile(request, response, { content, etag: gitBlob(content), ...twist });
    if (repository.isXet === true && request.headers.accept?.includes("vnd.xet-fileinfo+json") === true)
      return sendXet(response, hub, content);
    response.writeHead(302, { location: `${store}/blobs/${sha256(content)}?signed=yes` }).end();
  });
  return { endpoint: hub, store, commit: commitOfTests, requests, fail: (fault) => void faults.push(fault) };
}

async function listening(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function seen({ url = "", headers }: IncomingMessage): SeenRequest {
  const { range = null, authorization = null } = headers;
  return { path: url.split("?")[0] ?? "", range, authorization };
}

export function refuse(
  response: ServerResponse,
  code: number,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(code, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ error: "no" }));
}

function sendJson(
  response: ServerResponse,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

/** Sends a file's address in Xet, the hub's newer store. No test fetches the file from there. */
function sendXet(response: ServerResponse, hub: string, content: Buffer): void {
  const headers = {
    "content-type": "application/vnd.xet-fileinfo+json",
    "x-linked-size": String(content.length),
    "x-linked-etag": `"${sha256(content)}"`,
    "x-xet-hash": "f".repeat(64),
    link: `<${hub}/xet/token>; rel="xet-auth", <${hub}/xet/parts>; rel="xet-reconstruction-info"`,
  };
  response.writeHead(200, headers).end("{}");
}

function infoOf(name: string, { card = {}, isGated = false }: HubRepository): object {
  return {
    _id: "621ffdc036468d709f17434d",
    id: name,
    sha: commitOfTests,
    private: false,
    gated: isGated ? "manual" : false,
    downloads: 1,
    likes: 1,
    lastModified: "2025-01-01T00:00:00.000Z",
    cardData: card,
    tags: [],
  };
}

function treeOf(repository: HubRepository): readonly object[] {
  const paths = Object.keys(repository.files);
  const folders = new Set(paths.flatMap((path) => (path.includes("/") ? [path.split("/")[0]] : [])));
  return [
    ...[...folders].map((path) => ({ type: "directory", oid: "a".repeat(40), size: 0, path })),
    ...Object.entries(repository.files).map(([path, content]) => {
      const entry = { type: "file", oid: gitBlob(content), size: content.length, path };
      if (!isLarge(repository, path)) return entry;
      const pointer = Buffer.from("version https://git-lfs.github.com/spec/v1\n");
      const lfs = { oid: sha256(content), size: content.length, pointerSize: pointer.length };
      return { ...entry, oid: gitBlob(pointer), lfs };
    }),
  ];
}

function isLarge({ isLarge: chosen }: HubRepository, path: string): boolean {
  return chosen?.(path) ?? /\.(safetensors|gguf|bin)$/.test(path);
}

function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  {
    content,
    etag,
    cutAfter,
    silentAfter,
    ignoresRange = false,
  }: Twist & { readonly content: Buffer; readonly etag: string },
): void {
  const range = ignoresRange ? null : /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  const from = Number(range?.[1] ?? 0);
  const end = Math.min(range === null || range[2] === "" ? Infinity : Number(range[2]) + 1, content.length);
  const part = content.subarray(from, end);
  response.writeHead(range === null ? 200 : 206, {
    etag: `"${etag}"`,
    "content-length": part.length,
    ...(range !== null && { "content-range": `bytes ${from}-${end - 1}/${content.length}` }),
  });
  const stopAfter = cutAfter ?? silentAfter;
  if (stopAfter === undefined) return void response.end(part);
  response.write(part.subarray(0, stopAfter), () => {
    if (cutAfter !== undefined) response.destroy();
  });
}

export function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Returns the hash that git gives a blob with this content. */
export function gitBlob(content: Buffer): string {
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}
