// Mutates all parts of a request except the content of its body: method, path, query, headers, and how the body is
// framed.
import { gzipSync } from "node:zlib";
import type { Random } from "../../src/base/domain/random.ts";
import { withHeader, type HttpMessage } from "./http-message.ts";
import { longText, oddName, oddText, oneOf } from "./odd-values.ts";

/** @param names names of known query parameters */
type Mutation = (message: HttpMessage, random: Random, names: readonly string[]) => HttpMessage;

const mutations: { readonly [Name in string]: Mutation } = {
  method: (message, random) => ({ ...message, method: oneOf(random, methods) }),
  path: changePath,
  query: changeQuery,
  "query again": changeQuery,
  header: (message, random) => {
    const [name, values] = oneOf(random, headerValues);
    return withHeader(message, name, oneOf(random, values));
  },
  // A mutation of its own: as one of many headers, it would occur too rarely in a short run.
  "content type": (message, random) => withHeader(message, "content-type", oneOf(random, contentTypes)),
  "header gone": (message, random) => {
    const name = message.headers[random.index(message.headers.length)]?.[0];
    return name === undefined ? message : withHeader(message, name, null);
  },
  "header twice": (message, random) => ({
    ...message,
    headers: message.headers.flatMap((header) => (random.uniform() < 0.5 ? [header, header] : [header])),
  }),
  credentials: changeCredentials,
  framing: changeFraming,
  "line of garbage": (message, random) => {
    const odd = oneOf(random, [
      "a b: c",
      "no colon",
      ": no name",
      " folded: value",
      "a: b\rc",
      "a: \0",
      "ä: ö",
    ]);
    const [name = "", value = ""] = odd.split(/: ?/);
    return { ...message, headers: [...message.headers, [name, value]] };
  },
  "many headers": (message, random) => {
    const count = oneOf(random, [90, 1000, 2100]);
    const more = Array.from({ length: count }, (_, index) => [`x-${index}`, "v"] as const);
    return { ...message, headers: [...message.headers, ...more] };
  },
  version: (message, random) => ({
    ...message,
    version: oneOf(random, ["HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.", "", "FTP/1.1"]),
  }),
  "line ends": (message, random) => ({ ...message, lineEnd: oneOf(random, ["\n", "\r", "\r\r\n"]) }),
};

const methods =
  "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT PROPFIND SEARCH QUERY M-SEARCH get BREW PRI P\0ST"
    .split(" ")
    .concat("");

const contentTypes: readonly string[] = [
  "",
  "text/plain",
  "application/json; charset=utf-16",
  "application/json;",
  "APPLICATION/JSON",
  "application/jsonx",
  "application/problem+json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/json, text/plain",
  `application/${longText(300)}`,
];

const headerValues: readonly (readonly [name: string, values: readonly string[]])[] = [
  ["content-type", contentTypes],
  ["content-encoding", ["gzip", "identity", "br", "gzip, gzip", longText(300), ""]],
  ["accept", ["text/event-stream", "*/*", "", "text/html;q=0", longText(300)]],
  ["accept-encoding", ["gzip", "*;q=0", "br"]],
  ["host", ["", "evil.example", "a b", "localhost:99999", "[::1", longText(300), "\xff"]],
  ["x-request-id", ["mine-1", "", "a b", "a\xe9", "a/b+c==", longText(128), longText(129), "{}"]],
  ["idempotency-key", ["", "once", "\xe9", longText(256), longText(257), longText(5000)]],
  ["expect", ["100-continue", "200-ok", ""]],
  ["connection", ["close", "keep-alive", "upgrade", "close, upgrade", "x-request-id"]],
  ["upgrade", ["websocket", "h2c", longText(300)]],
  ["access-control-request-method", ["POST", "", longText(300)]],
  ["access-control-request-headers", ["authorization", "\xe9", longText(3000)]],
  ["origin", ["null", "https://app.example", "https://evil.example", longText(300)]],
  ["range", ["bytes=0-0", "bytes=-1", longText(300)]],
  ["if-none-match", ["*", longText(300)]],
  ["if-modified-since", ["yesterday"]],
  ["forwarded", ["for=evil;host=evil"]],
  ["x-forwarded-for", [longText(300)]],
  ["cookie", [longText(8000)]],
  ["x-long", [longText(17_000), longText(70_000)]],
];

/** Returns the request after one random change, and a description of the change. */
export function mutatedMessage(
  message: HttpMessage,
  { random, names }: { readonly random: Random; readonly names: readonly string[] },
): { readonly message: HttpMessage; readonly what: string } {
  const what = oneOf(random, Object.keys(mutations));
  return { message: mutations[what]?.(message, random, names) ?? message, what };
}

function changePath(message: HttpMessage, random: Random): HttpMessage {
  const [path = "", ...query] = message.target.split("?");
  const parts = path.split("/");
  const at = 1 + random.index(Math.max(1, parts.length - 1));
  const part = oneOf(random, [...oddParts, escaped(oddText(random))]);
  const whole = [
    `/${path}`,
    `${path}/`,
    `/.${path}`,
    `http://evil.example${path}`,
    `${path}#x`,
    "*",
    "",
    path.toUpperCase(),
  ];
  const target =
    random.uniform() < 0.3
      ? oneOf(random, whole)
      : random.uniform() < 0.6
        ? parts.toSpliced(at, 1, part).join("/")
        : parts.toSpliced(at, 0, part).join("/");
  return { ...message, target: [target, ...query].join("?") };
}

const oddParts = [
  "%00",
  "%2e%2e",
  "..",
  ".",
  "%2f",
  "%5c..%5c",
  "%zz",
  "%",
  "%c0%af",
  "%ff",
  "%E2%80%A8",
  "\xff",
  "",
  ";a=b",
  "__proto__",
  "constructor",
  ":model_id",
  "*",
  "docs/static//etc/passwd",
  "docs/static/%2e%2e/%2e%2e/package.json",
  "docs/static/nothing.js",
  longText(300),
  longText(1500),
  longText(7000),
];

function changeQuery(message: HttpMessage, random: Random, names: readonly string[]): HttpMessage {
  const [path = "", query = ""] = message.target.split("?");
  const count = random.uniform() < 0.9 ? 1 + random.index(3) : 1200;
  const added = Array.from({ length: count }, () => {
    const name = random.uniform() < 0.8 ? oneOf(random, names) : oddName(random);
    return `${escaped(name.slice(0, 300))}=${oneOf(random, [escaped(oddText(random).slice(0, 400)), ...oddParameters])}`;
  });
  const parameters = [...query.split("&").filter((parameter) => parameter !== ""), ...added].join("&");
  return { ...message, target: `${path}?${parameters.slice(0, 12_000)}` };
}

const oddParameters = [
  "0",
  "1",
  "-1",
  "100",
  "101",
  "1.5",
  "1e3",
  "99999999999999999999",
  "asc",
  "desc",
  "queued",
  "%",
  "%zz",
  "%00",
  "a+b",
  "",
];

function escaped(text: string): string {
  // First converts to bytes, which replaces lone surrogates: encodeURIComponent throws an error for them.
  return encodeURIComponent(Buffer.from(text).toString());
}

function changeCredentials(message: HttpMessage, random: Random): HttpMessage {
  const given = message.headers.find(([name]) => name === "authorization")?.[1] ?? "";
  const odd = [
    given.toLowerCase(),
    given.replace(" ", "   "),
    `${given} more`,
    given.slice(0, -1),
    `${given},${given}`,
    "Bearer",
    "Bearer ",
    "Basic",
    "Basic OnN0",
    "Basic %%%",
    "Basic " + Buffer.from("no colon").toString("base64"),
    "Digest a=b",
    "hone_key",
    `Bearer ${longText(5000)}`,
    "Bearer \xff",
    longText(300),
  ];
  return withHeader(message, "authorization", oneOf(random, odd));
}

function changeFraming(message: HttpMessage, random: Random): HttpMessage {
  const body = message.body ?? Buffer.from("{}");
  const length = (value: string): HttpMessage => withHeader({ ...message, body }, "content-length", value);
  const coding = (value: string): HttpMessage => withHeader({ ...message, body }, "transfer-encoding", value);
  return oneOf(random, [
    () => ({ ...message, body, isChunked: true }),
    () => ({ ...message, body, isChunked: true }),
    () => length(String(Math.max(0, body.length - 1))),
    () => length(String(body.length + 1)),
    () => length("-1"),
    () => length("0x10"),
    () => length("99999999999999999999"),
    () => length(String(300 << 20)),
    () => length(`${body.length}, ${body.length}`),
    () => coding("gzip"),
    () => coding("chunked, chunked"),
    () => coding("identity"),
    () => withHeader({ ...coding("chunked"), isChunked: true }, "content-length", "5"),
    () => ({ ...coding("chunked"), body: Buffer.from("zz\r\nhello\r\n0\r\n\r\n") }),
    () => ({ ...coding("chunked"), body: Buffer.from("ffffffffffffffffff\r\nhello") }),
    () => ({ ...coding("chunked"), body: Buffer.from("5\r\nhello") }),
    () => withHeader({ ...message, body: gzipSync(body) }, "content-encoding", "gzip"),
  ])();
}
