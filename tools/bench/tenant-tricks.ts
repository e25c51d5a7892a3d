// Attacks by a hostile tenant, used by tools/bench/tenants.ts. All attacks run in a separate thread, and each continues
// until its signal aborts.
import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** The attacked server, and the hostile tenant's account. */
export interface Stage {
  readonly url: string;
  /** API key of the hostile tenant. */
  readonly key: string;
  /** Model that the hostile tenant owns. */
  readonly modelId: string;
  /** Finished training job of that model. */
  readonly jobId: string;
  readonly project: string;
}

export interface Trick {
  readonly name: string;
  readonly play: (stage: Stage, signal: AbortSignal) => Promise<unknown>;
}

const mebibyte = 1 << 20;
const jobs = "/v1/preview/training-jobs";
const chats = "/v1/chat/completions";
const feedback = "/feedback/batch/create";
const transfers = "/v1/kv-transfers";
const hello = [{ role: "user", content: "tell me a story" }];

const agent = new Agent({ keepAlive: true, maxSockets: 4096 });

function authorizationFor(path: string, key: string): string {
  return path.startsWith("/feedback")
    ? `Basic ${Buffer.from(`api:${key}`).toString("base64")}`
    : `Bearer ${key}`;
}

/** Sends one request and reads the whole response, even if it is an error. */
function ask(
  { url, key }: Stage,
  signal: AbortSignal,
  {
    path,
    body = null,
    accept,
    ownConnection = false,
  }: {
    readonly path: string;
    readonly body?: string | Buffer | null;
    readonly accept?: string;
    readonly ownConnection?: boolean;
  },
): Promise<void> {
  return new Promise((resolve) => {
    const headers = {
      authorization: authorizationFor(path, key),
      ...(body === null
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      ...(accept === undefined ? {} : { accept }),
    };
    const asked = httpRequest(
      url + path,
      { method: body === null ? "GET" : "POST", headers, signal, agent: ownConnection ? false : agent },
      (answer) => answer.resume().once("close", () => resolve()),
    );
    asked.once("error", () => resolve());
    asked.end(body ?? undefined);
  });
}

/** Repeats a request in `count` concurrent loops. */
async function lanes(
  count: number,
  signal: AbortSignal,
  once: (lane: number) => Promise<unknown>,
): Promise<void> {
  const lane = async (index: number): Promise<void> => {
    while (!signal.aborted) {
      await once(index);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: count }, (_, index) => lane(index)));
}

/** Opens a connection and sends the start of a request; resolves when the connection has ended. */
function hold(
  { url }: Stage,
  signal: AbortSignal,
  head: readonly string[],
  then: (socket: Socket) => void = () => undefined,
): Promise<void> {
  return new Promise((resolve) => {
    const { port, hostname } = new URL(url);
    const socket = connect({ port: Number(port), host: hostname });
    const end = (): void => void socket.destroy();
    signal.addEventListener("abort", end, { once: true });
    socket
      .on("error", () => undefined)
      .once("close", () => {
        signal.removeEventListener("abort", end);
        resolve();
      })
      .resume();
    if (head.length > 0) socket.write(`${head.join("\r\n")}\r\n\r\n`);
    then(socket);
  });
}

function headOf(path: string, key: string | null, bytes: number): readonly string[] {
  return [
    `POST ${path} HTTP/1.1`,
    "host: a",
    ...(key === null ? [] : [`authorization: ${authorizationFor(path, key)}`]),
    "content-type: application/json",
    `content-length: ${bytes}`,
  ];
}

/** Sends a byte every five seconds, so that the body is never complete. */
function drip(socket: Socket, first: string): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(" "), 5000);
  socket.once("close", () => clearInterval(timer));
}

/** Sends as many bytes as the server accepts. */
function pour(socket: Socket): void {
  const piece = Buffer.alloc(mebibyte, "[");
  const write = (): void => {
    while (!socket.destroyed && socket.write(piece)) continue;
  };
  socket.on("drain", write);
  write();
}

const jsonOf = (value: object): string => JSON.stringify(value);

/** A body slightly below the size from which the server parses in a worker thread instead of its main thread. */
const denseChat = `{"messages":${jsonOf(hello)},"max_tokens":1,"n":0,"stop_token_ids":[${"[],".repeat(40_000)}0]}`;

export const tricks: readonly Trick[] = [
  {
    name: "large bodies announced, a byte every 5 s",
    play: (stage, signal) =>
      lanes(136, signal, async (lane) => {
        const [path, bytes, first] =
          lane < 8
            ? [
                jobs,
                256 * mebibyte,
                `{"model_id":"${stage.modelId}","trajectory_groups":[${" ".repeat(1000)}`,
              ]
            : lane < 72
              ? [chats, 16 * mebibyte, "{"]
              : [feedback, 32 * mebibyte, "{"];
        await hold(stage, signal, headOf(path, stage.key, bytes), (socket) => drip(socket, first));
        await sleep(100);
      }),
  },
  {
    name: "large bodies at full speed, never complete",
    play: (stage, signal) =>
      lanes(24, signal, (lane) =>
        hold(
          stage,
          signal,
          headOf(lane < 8 ? jobs : feedback, stage.key, (lane < 8 ? 256 : 32) * mebibyte),
          pour,
        ),
      ),
  },
  {
    name: "1,040 bodies announced without a key",
    play: (stage, signal) =>
      lanes(1040, signal, async () => {
        await hold(stage, signal, headOf(transfers, null, mebibyte), (socket) => drip(socket, "{"));
        await sleep(1000);
      }),
  },
  {
    name: "bodies without a key at full speed",
    play: (stage, signal) =>
      lanes(64, signal, (lane) =>
        hold(stage, signal, headOf(lane % 2 === 0 ? transfers : chats, null, mebibyte * 256), pour),
      ),
  },
  {
    name: "3,000 connections without a key",
    play: (stage, signal) =>
      lanes(3000, signal, async (lane) => {
        await sleep(lane % 1000);
        await hold(stage, signal, lane % 2 === 0 ? [] : ["GET /health HTTP/1.1", "host: a"]);
        await sleep(1000);
      }),
  },
  {
    name: "2,500 connections kept open with a key",
    play: (stage, signal) =>
      lanes(2500, signal, async (lane) => {
        await sleep(lane % 1000);
        await hold(stage, signal, [
          "GET /v1/models HTTP/1.1",
          "host: a",
          `authorization: Bearer ${stage.key}`,
        ]);
        await sleep(1000);
      }),
  },
  {
    name: "600 concurrent connections with a key, repeatedly",
    play: async (stage, signal) => {
      while (!signal.aborted) {
        const one = (): Promise<void> => ask(stage, signal, { path: "/v1/models", ownConnection: true });
        await Promise.all(Array.from({ length: 600 }, one));
        await sleep(500);
      }
    },
  },
  {
    name: "96 feedback queries, statistics and exports",
    play: (stage, signal) =>
      lanes(96, signal, (lane) => {
        const { project } = stage;
        const query = {
          project_id: project,
          limit: 10_000,
          sort_by: [{ field: "created_at", direction: "desc" }],
        };
        const all = [
          { path: "/feedback/query", body: jsonOf(query) },
          { path: "/feedback/stats", body: jsonOf({ project_id: project }) },
          { path: "/feedback/export", body: jsonOf({ project_id: project }) },
        ];
        return ask(stage, signal, all[lane % all.length] ?? { path: "/health" });
      }),
  },
  {
    name: "480 streamed chats",
    play: (stage, signal) =>
      lanes(480, signal, (lane) => {
        const body = jsonOf({ messages: hello, stream: true, seed: lane, max_tokens: 200, ignore_eos: true });
        return ask(stage, signal, { path: chats, body });
      }),
  },
  {
    name: "480 streams of job events",
    play: (stage, signal) =>
      lanes(480, signal, () =>
        ask(stage, signal, { path: `${jobs}/${stage.jobId}/events`, accept: "text/event-stream" }),
      ),
  },
  {
    name: "128 answers with 20 log-probabilities, 4 times",
    play: (stage, signal) =>
      lanes(4, signal, (lane) => {
        const wanted = { n: 128, max_tokens: 200, ignore_eos: true, logprobs: true, top_logprobs: 20 };
        return ask(stage, signal, { path: chats, body: jsonOf({ messages: hello, seed: lane, ...wanted }) });
      }),
  },
  {
    name: "a full request queue",
    play: (stage, signal) =>
      lanes(500, signal, (lane) => {
        const more = { max_tokens: 300, ignore_eos: true };
        if (lane % 4 !== 0)
          return ask(stage, signal, { path: chats, body: jsonOf({ messages: hello, ...more }) });
        const prompt = Array.from({ length: 128 }, (_, index) => `text ${index}`);
        return ask(stage, signal, { path: "/v1/completions", body: jsonOf({ prompt, ...more }) });
      }),
  },
  {
    name: "64 bodies of 120 KB with only invalid fields",
    play: (stage, signal) => lanes(64, signal, () => ask(stage, signal, { path: chats, body: denseChat })),
  },
  {
    name: "16 chats of 15 MB",
    play: (stage, signal) => {
      const body = Buffer.from(
        jsonOf({ messages: [{ role: "user", content: "x y ".repeat(3.75 * mebibyte) }] }),
      );
      return lanes(16, signal, () => ask(stage, signal, { path: chats, body }));
    },
  },
  {
    name: "8 batches of 10,000 records of feedback",
    play: (stage, signal) => {
      const record = {
        project_id: stage.project,
        vendor_ref: `w:///${stage.project}/call/1`,
        feedback_type: "t",
        payload: { text: "x".repeat(1000) },
      };
      const body = Buffer.from(jsonOf({ batch: Array.from({ length: 10_000 }, () => record) }));
      return lanes(8, signal, () => ask(stage, signal, { path: feedback, body }));
    },
  },
  {
    name: "jobs of 100 MB",
    play: (stage, signal) => {
      const text = "lorem ipsum dolor sit amet ".repeat(4000);
      const trajectory = {
        reward: 1,
        messages_and_choices: [
          { role: "user", content: text },
          { role: "assistant", content: "yes" },
        ],
      };
      const group = { trajectories: [trajectory] };
      const trajectory_groups = Array.from({ length: 1000 }, () => group);
      const body = Buffer.from(jsonOf({ model_id: stage.modelId, trajectory_groups }));
      return lanes(1, signal, () => ask(stage, signal, { path: jobs, body }));
    },
  },
  {
    name: "128 clients with wrong keys",
    play: (stage, signal) =>
      lanes(128, signal, () => ask({ ...stage, key: "hone_wrong" }, signal, { path: "/v1/models" })),
  },
];
