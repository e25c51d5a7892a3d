// Tests adding models from a hub, which a loopback server with the hub's API simulates: complete additions, and
// failures.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock, type Clock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { addFromHub, type AddProgress } from "./add-from-hub.ts";
import type { HubLimits } from "./hub/access.ts";
import { ModelLibrary } from "./model-library.ts";
import {
  gitBlob,
  loopbackHub,
  refuse,
  type HubRepository,
  type LoopbackHub,
} from "./testing/loopback-hub.ts";

const smallFolder = "test/fixtures/small-model";
const fixture = (path: string): Buffer => readFileSync(join("test/fixtures", path));
const smallFiles = Object.fromEntries(
  readdirSync(smallFolder).map((name) => [name, readFileSync(join(smallFolder, name))]),
);
const small: HubRepository = {
  files: {
    ...smallFiles,
    "onnx/model.onnx": Buffer.from("of no use here"),
    "pytorch_model.bin": Buffer.from("pickle"),
  },
  card: { license: "apache-2.0" },
};
const repository = "someone/Small-Model";
const taken = [
  "chat_template.jinja",
  "config.json",
  "generation_config.json",
  "model.safetensors",
  "tokenizer.json",
  "tokenizer_config.json",
];

interface Case {
  readonly library: ModelLibrary;
  readonly folder: string;
  readonly hub: LoopbackHub;
  readonly reports: AddProgress[];
  /** Pauses before retries, in milliseconds. */
  readonly pauses: number[];
  readonly add: (
    text?: string,
    options?: {
      readonly name?: string;
      readonly withoutWeights?: boolean;
      readonly token?: string;
      readonly limits?: Partial<HubLimits>;
    },
  ) => ReturnType<typeof addFromHub>;
}

async function opened(
  t: TestContext,
  repositories: Readonly<Record<string, HubRepository>> = { [repository]: small },
): Promise<Case> {
  const hub = await loopbackHub(t, repositories);
  const folder = mkdtempSync(join(tmpdir(), "hone-library-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const takeLock = () => ({ release: () => undefined });
  const library = new ModelLibrary({ folder, takeLock, clock: systemClock });
  const [reports, pauses]: [AddProgress[], number[]] = [[], []];
  // A clock that records pauses without waiting.
  const clock: Clock = { ...systemClock, sleep: async (durationMs) => void pauses.push(durationMs) };
  return {
    library,
    folder,
    hub,
    reports,
    pauses,
    add: (
      text = repository,
      {
        name = null as string | null,
        withoutWeights = false,
        token = null as string | null,
        limits = {},
      } = {},
    ) =>
      addFromHub(library, text, {
        name,
        withoutWeights,
        reserved: ["built-in"],
        token,
        limits,
        clock,
        endpoint: hub.endpoint,
        report: (one) => void reports.push(one),
      }),
  };
}

test("adds only a model's files, identical to the hub's, with its licence and commit", async (t) => {
  const { library, folder, hub, reports, add } = await opened(t);
  const added = await add();
  const place = join(folder, "Small-Model");
  assert.deepEqual(readdirSync(place).toSorted(), [".hone-model", ...taken]);
  for (const name of taken) assert.deepEqual(readFileSync(join(place, name)), smallFiles[name], name);
  assert.deepEqual(library.list(), [added]);
  const { source, license } = added;
  assert.deepEqual(source, {
    kind: "hub",
    endpoint: hub.endpoint,
    repository,
    revision: "main",
    commit: hub.commit,
    quantization: null,
  });
  assert.equal(license, "apache-2.0");
  assert.ok(readModelConfig(library.pathOf(added)).vocabularySize > 0);
  const bytes = added.files.reduce((sum, file) => sum + file.bytes, 0);
  assert.deepEqual(reports[0], {
    kind: "begun",
    name: "Small-Model",
    source,
    license,
    fileCount: taken.length,
    bytes,
  });
  assert.deepEqual(reports.filter(({ kind }) => kind === "bytes").at(-1), {
    kind: "bytes",
    file: "model.safetensors",
    bytes,
    bytesInAll: bytes,
  });
  assert.ok(
    hub.requests.hub.every(({ path }) => !/onnx|pytorch|README/.test(path)),
    "nothing else was asked for",
  );
  assert.ok(
    hub.requests.hub
      .filter(({ path }) => path.includes("/resolve/"))
      .every(({ path }) => path.includes(hub.commit)),
    "all of one commit",
  );
});

test("does not fetch a model again, and refuses another under its name", async (t) => {
  const { hub, library, add } = await opened(t, { [repository]: small, "other/Small-Model": small });
  const first = await add();
  const before = hub.requests.hub.length;
  assert.deepEqual(await add(), first);
  assert.ok(hub.requests.hub.slice(before).every(({ path }) => !path.includes("/resolve/")));
  await assert.rejects(add("other/Small-Model"), {
    code: "conflict",
    message: /model Small-Model already.*models remove Small-Model.*--name/,
  });
  const second = await add("other/Small-Model@v1.0", { name: "second" });
  assert.deepEqual(library.list(), [first, second]);
});

test("resumes a broken connection at its end, by ranges", async (t) => {
  const { hub, pauses, add } = await opened(t);
  hub.fail({ at: /blobs/, twist: { cutAfter: 1000 } });
  hub.fail({ at: /blobs/, twist: { cutAfter: 500 } });
  await add();
  assert.deepEqual(
    hub.requests.store.map(({ range }) => range).filter((range) => range !== "bytes=0-0"),
    [null, "bytes=1000-", "bytes=1500-"],
  );
  assert.deepEqual(pauses, [1000, 1000], "what gets on has all its tries again");
});

test("resumes an interrupted addition in the middle of a file", async (t) => {
  const { hub, folder, library, add } = await opened(t);
  hub.fail({ at: /blobs/, twist: { cutAfter: 70_000 } });
  await assert.rejects(add(repository, { limits: { retryCount: 0 } }), {
    code: "unavailable",
    message: /cut .*Run the same command again/s,
  });
  assert.deepEqual(library.list(), []);
  assert.deepEqual(
    library.listUnfinished().map(({ name }) => name),
    ["Small-Model"],
  );
  const partial = join(folder, ".unfinished/Small-Model/model.safetensors.partial");
  // The file is shorter than what was sent, because bytes that were in flight when the connection was cut are lost.
  const there = readFileSync(partial).length;
  assert.ok(there > 0 && there <= 70_000);
  hub.requests.store.length = 0;
  hub.requests.hub.length = 0;
  await add();
  assert.deepEqual(
    hub.requests.store.map(({ range }) => range),
    ["bytes=0-0", `bytes=${there}-`],
  );
  assert.deepEqual(
    hub.requests.hub.map(({ path }) => path).filter((path) => path.endsWith("tokenizer.json")),
    [],
  );
  assert.deepEqual(library.listUnfinished(), []);
});

test("fetches a large file of the hub's newer store over its bridge, also in parts", async (t) => {
  const { hub, library, add } = await opened(t, { [repository]: { ...small, isXet: true } });
  hub.fail({ at: /blobs/, twist: { cutAfter: 1000 } });
  const added = await add();
  const weights = readFileSync(join(library.pathOf(added), "model.safetensors"));
  assert.deepEqual(weights, smallFiles["model.safetensors"]);
  assert.deepEqual(
    hub.requests.store.map(({ range }) => range),
    [null, "bytes=1000-"],
  );
  assert.ok(hub.requests.hub.every(({ path }) => !path.startsWith("/xet/")));
});

test("starts a file again if the hub does not serve ranges", async (t) => {
  const { hub, library, add } = await opened(t);
  hub.fail({ at: /blobs/, twist: { cutAfter: 1000 } });
  hub.fail({ at: /blobs/, twist: { ignoresRange: true } });
  await add();
  assert.equal(library.list().length, 1);
});

for (const [name, at] of [
  ["a large file", /blobs/],
  ["a small file", /resolve.*config\.json/],
] as const) {
  test(`refuses and removes ${name} that does not match its checksum`, async (t) => {
    const { hub, folder, library, add } = await opened(t);
    const file = name === "a large file" ? "model.safetensors" : "config.json";
    const wrong = Buffer.from(smallFiles[file] ?? "");
    wrong[wrong.length - 1] ^= 1;
    hub.fail({ at, twist: { content: wrong } });
    await assert.rejects(add(), (error: Error) => {
      assert.match(error.message, new RegExp(`^${file} of someone/Small-Model .*checksum .*was removed`));
      return true;
    });
    const left = readdirSync(join(folder, ".unfinished/Small-Model"));
    assert.deepEqual(
      left.filter((one) => one.startsWith(file)),
      [],
    );
    await add();
    assert.equal(library.list().length, 1);
  });
}

test("times out on silence before an answer and in the middle of one", async (t) => {
  const { hub, pauses, reports, add } = await opened(t);
  hub.fail({ at: /blobs/, twist: { silentAfter: 1000 } });
  hub.fail({ at: /resolve.*tokenizer\.json/, answer: () => undefined });
  await add(repository, { limits: { silenceMs: 1500 } });
  assert.equal(pauses.length, 2);
  const reasons = reports.flatMap((one) => (one.kind === "pause" ? [one.reason] : []));
  assert.match(reasons[0] ?? "", /does not answer/);
  assert.match(reasons[1] ?? "", /nothing came for 1\.5 seconds/);
});

test("retries a busy hub after the pause that it asks for, a limited number of times", async (t) => {
  const { hub, pauses, add } = await opened(t);
  const busy = {
    at: /tree/,
    answer: (response: Parameters<typeof refuse>[0]) => refuse(response, 429, { "retry-after": "7" }),
  };
  const broken = {
    at: /tree/,
    answer: (response: Parameters<typeof refuse>[0]) => refuse(response, 503, {}),
  };
  hub.fail(busy);
  hub.fail(broken);
  await add();
  assert.deepEqual(pauses, [7000, 2000]);
  for (let count = 0; count <= 5; count++) hub.fail(busy);
  await assert.rejects(add(), {
    code: "unavailable",
    message: /accepts no more requests for now\. Run the same command/,
  });
  hub.fail({ at: /tree/, answer: (response) => refuse(response, 429, { "retry-after": "4000" }) });
  await assert.rejects(add(), { code: "unavailable", message: /asks to wait 4000 seconds/ });
});

test("refuses a missing, private or gated repository with the cure", async (t) => {
  const files = small.files;
  const { add, hub } = await opened(t, {
    [repository]: small,
    "someone/private": { files, token: "hf_right" },
    "someone/gated": { files, isGated: true },
  });
  const refused = (text: string, code: string, message: RegExp, token?: string) =>
    assert.rejects(add(text, token === undefined ? {} : { token }), { code, message });
  await refused(
    "someone/nothing",
    "forbidden",
    /shows no someone\/nothing\. Check its spelling, and set HF_TOKEN/,
  );
  await refused("someone/nothing", "not_found", /check that HF_TOKEN is still valid/, "hf_right");
  await refused("someone/private", "not_found", /shows no someone\/private/, "hf_wrong");
  await refused(`${repository}@v9`, "not_found", /There is no someone\/Small-Model@v9/);
  await refused(
    "someone/gated",
    "forbidden",
    new RegExp(`Accept them at ${hub.endpoint}/someone/gated, and set HF_TOKEN`),
  );
  await refused(repository, "invalid", /begin with hf_/, "token");
  await assert.rejects(add(repository, { name: "built-in" }), {
    code: "conflict",
    message: /the built-in model's name/,
  });
  await refused("../secret", "invalid", /neither a file or folder here, nor a model of the hub/);
  const added = await add("someone/private", { token: "hf_right" });
  assert.equal(added.name, "private");
});

test("fetches only a model's descriptions if its weights are not wanted", async (t) => {
  const gguf = { "small.Q8_0.gguf": fixture("gguf/qwen2.gguf") };
  const { library, folder, hub, add } = await opened(t, {
    [repository]: small,
    "someone/Small-GGUF": { files: gguf },
  });
  const described = taken.filter((name) => name !== "model.safetensors");
  const added = await add(repository, { withoutWeights: true });
  assert.deepEqual(readdirSync(join(folder, "Small-Model")).toSorted(), [".hone-model", ...described]);
  assert.deepEqual([added.source.withoutWeights, library.list()], [true, [added]]);
  assert.ok(hub.requests.hub.every(({ path }) => !path.endsWith("model.safetensors")));
  assert.deepEqual(await add(repository, { withoutWeights: true }), added);
  await assert.rejects(add(), { code: "conflict", message: /Remove it first/ });
  const whole = await add(repository, { name: "whole" });
  assert.deepEqual(await add(repository, { name: "whole", withoutWeights: true }), whole);
  await assert.rejects(add("someone/Small-GGUF", { withoutWeights: true }), {
    code: "unsupported",
    message: /cannot be added without its weights; name the repository that it was made from/,
  });
});

test("sends a token only to the hub, not to its store of large files", async (t) => {
  const { add, hub } = await opened(t, { [repository]: { ...small, token: "hf_right" } });
  await add(repository, { token: "hf_right" });
  assert.ok(hub.requests.hub.every(({ authorization }) => authorization === "Bearer hf_right"));
  assert.ok(hub.requests.store.length > 1);
  assert.ok(hub.requests.store.every(({ authorization }) => authorization === null));
});

test("names an unreachable hub immediately, with the alternatives", async (t) => {
  const { library, pauses } = await opened(t);
  const access = {
    name: null,
    reserved: [],
    withoutWeights: false,
    token: null,
    clock: systemClock,
    report: () => undefined,
  };
  const add = (endpoint: string, token: string | null = null) =>
    addFromHub(library, repository, { ...access, endpoint, token });
  await assert.rejects(add("http://127.0.0.1:9"), {
    code: "unavailable",
    message: /127\.0\.0\.1:9 cannot be reached \(.+\)\. Is there a network\? HF_ENDPOINT/,
  });
  assert.deepEqual(pauses, []);
  await assert.rejects(add("huggingface.co"), { code: "invalid", message: /HF_ENDPOINT/ });
  await assert.rejects(add("ftp://127.0.0.1"), { code: "invalid", message: /https:/ });
  await assert.rejects(add("http://mirror.example", "hf_right"), {
    code: "invalid",
    message: /unencrypted/,
  });
});

test("refuses an unsupported model before fetching its weights, and leaves nothing", async (t) => {
  const config = Buffer.from(
    JSON.stringify({
      ...JSON.parse(smallFiles["config.json"]?.toString() ?? ""),
      model_type: "mamba",
      architectures: ["MambaForCausalLM"],
    }),
  );
  const { hub, folder, add } = await opened(t, {
    [repository]: { files: { ...small.files, "config.json": config } },
  });
  const commands = `\`vllm serve ${repository} --port 8001\`, then \`hone models add ${repository} --name Small-Model --without-weights\` and \`hone serve --model 'Small-Model=vllm+http://127.0.0.1:8001'\``;
  await assert.rejects(
    add(),
    (error) =>
      error instanceof ServiceError && /mamba/i.test(error.message) && error.message.includes(commands),
  );
  assert.equal(hub.requests.store.length, 0);
  assert.equal(existsSync(join(folder, ".unfinished/Small-Model")), false);
  // vLLM also computes models of other families.
  assert.equal((await add(repository, { withoutWeights: true })).name, "Small-Model");
});

test("refuses weights that do not match the configuration, and leaves nothing", async (t) => {
  const cut = (smallFiles["model.safetensors"] ?? Buffer.alloc(0)).subarray(0, -8);
  const { folder, library, add } = await opened(t, {
    [repository]: { files: { ...small.files, "model.safetensors": cut } },
  });
  await assert.rejects(add(), { code: "invalid", message: /model\.safetensors/ });
  assert.deepEqual(library.listUnfinished(), []);
  assert.equal(existsSync(join(folder, ".unfinished/Small-Model")), false);
});

test("adds GGUF models by quantization, also in parts, and names them after it", async (t) => {
  const files = {
    "README.md": Buffer.from("x"),
    "qwen-Q8_0.gguf": fixture("gguf/qwen2.gguf"),
    "Q4_K_M/split-Q4_K_M-00001-of-00002.gguf": fixture("gguf/split-00001-of-00002.gguf"),
    "Q4_K_M/split-Q4_K_M-00002-of-00002.gguf": fixture("gguf/split-00002-of-00002.gguf"),
    "mmproj-F16.gguf": Buffer.from("for images"),
  };
  const { library, add } = await opened(t, {
    "someone/Qwen-GGUF": { files, card: { license: "other", license_name: "qwen" } },
  });
  await assert.rejects(add("someone/Qwen-GGUF"), {
    code: "unsupported",
    message: /several GGUF models; name one of Q4_K_M, Q8_0 after a colon: someone\/Qwen-GGUF:Q4_K_M/,
  });
  await assert.rejects(add("someone/Qwen-GGUF:Q2_K"), {
    message: /no GGUF model of the kind Q2_K; name one of Q4_K_M, Q8_0/,
  });
  const added = await add("someone/Qwen-GGUF:q8_0");
  assert.deepEqual(
    [added.name, added.license, added.files.map(({ name }) => name)],
    ["Qwen-Q8_0", "qwen", ["qwen-Q8_0.gguf"]],
  );
  assert.equal(library.pathOf(added), join(library.folderOf("Qwen-Q8_0"), "qwen-Q8_0.gguf"));
  // The error shows that both parts of the file arrived: a missing part would be reported before the architecture.
  await assert.rejects(add("someone/Qwen-GGUF:Q4_K_M"), { message: /architecture is test; llama, / });
});

test("refuses a hub that lies about a file, sends without end, or lists without end, and leaves nothing", async (t) => {
  const { hub, folder, library, add } = await opened(t);
  const weights = smallFiles["model.safetensors"] ?? Buffer.alloc(0);
  const longer = Buffer.concat([weights, Buffer.alloc(1)]);
  const redirects = (location: string) => (response: ServerResponse) =>
    void response.writeHead(302, { location }).end();
  for (const [faults, message] of [
    [[{ at: /blobs/, twist: { content: longer } }], /model\.safetensors.*more than the \d+ bytes|bytes/],
    [
      Array.from({ length: 11 }, () => ({ at: /resolve.*model\.safetensors/, answer: redirects("?again") })),
      /redirects a request 10 times or more/,
    ],
    [
      [{ at: /revision/, answer: redirects("ftp://hub.example/") }],
      /"ftp:\/\/hub\.example\/", which is not a web address/,
    ],
    [
      Array.from({ length: 1001 }, () => ({
        at: /tree/,
        answer: (response: ServerResponse) =>
          void response
            .writeHead(200, { link: `<${hub.endpoint}/api/models/${repository}/tree/x>; rel="next"` })
            .end("[]"),
      })),
      /does not describe a repository.s files/,
    ],
  ] as const) {
    for (const fault of faults) hub.fail(fault);
    await assert.rejects(add(), { code: "unavailable", message });
    assert.deepEqual(library.list(), []);
  }
  assert.ok(!existsSync(join(folder, "Small-Model")));
});

test("refuses names of files that lead out of a folder", async (t) => {
  const { hub, folder, add } = await opened(t);
  const names = [
    "../config.json",
    "/etc/config.json",
    "..\\config.json",
    "a/../../config.json",
    "config.json\u0000",
  ];
  const entries = [
    ...names,
    "../../x-Q4_0.gguf",
    "..%2f..%2fx-Q4_0.gguf",
    "model.safetensors/../../x.gguf",
  ].map((path) => ({
    type: "file",
    path,
    size: 3,
    oid: gitBlob(Buffer.from("abc")),
  }));
  hub.fail({ at: /tree/, answer: (response) => response.writeHead(200).end(JSON.stringify(entries)) });
  await assert.rejects(add(), { code: "unsupported" });
  assert.deepEqual(
    readdirSync(join(folder, "..")).filter((name) => /config|x-Q4/.test(name)),
    [],
  );
});

test("recognises an answer that is not from a hub", async (t) => {
  const { hub, library, add } = await opened(t);
  const page = (response: ServerResponse): void =>
    void response.writeHead(200, { "content-type": "text/html" }).end("<html>Log in</html>");
  for (const at of [/revision/, /tree/, /resolve/]) {
    hub.fail({ at, answer: page });
    await assert.rejects(add(), {
      code: "unavailable",
      message: /does not describe .* as the Hugging Face hub does/,
    });
  }
  hub.fail({
    at: /tree/,
    answer: (response) => response.writeHead(200).end('[{"type":"file","path":"x","size":-1}]'),
  });
  await assert.rejects(add(), { code: "unavailable", message: /does not describe a repository.s files/ });
  assert.deepEqual(library.list(), []);
});

test("names a disk without room before fetching, with needed and free bytes", async (t) => {
  const { hub, add } = await opened(t);
  const entries = ["config.json", "tokenizer.json", "model.safetensors"].map((path) => ({
    type: "file",
    path,
    oid: "a".repeat(40),
    size: path === "model.safetensors" ? 2e12 : 10,
  }));
  hub.fail({ at: /tree/, answer: (response) => response.writeHead(200).end(JSON.stringify(entries)) });
  await assert.rejects(add(), {
    code: "unavailable",
    message:
      /needs 2 TB on the disk of .*Small-Model, which has [\d.]+ [MGT]B\. Make room there, or .*--data/,
  });
  assert.ok(hub.requests.hub.every(({ path }) => !path.includes("/resolve/")));
});

test("hashes small files as git does", () => {
  // Result of: printf 'hello\n' | git hash-object --stdin
  assert.equal(gitBlob(Buffer.from("hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a");
});
