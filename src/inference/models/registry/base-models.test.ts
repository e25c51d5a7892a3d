import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import type { BaseModel } from "../../../base/domain/model.ts";
import { listBaseModels } from "./base-models.ts";

const builtIn: BaseModel = { name: "built-in", folder: "/built-in", engine: { kind: "embedded" } };
const qwen = "test/fixtures/goldens/models/qwen3";

const folderOfFile = (file: string): string =>
  file.endsWith("qwen.Q8_0.gguf") || file.includes("-of-") ? qwen : "test";

const names = (
  named: readonly string[],
  defaultModel: string | null = null,
  last: BaseModel | null = builtIn,
): readonly string[] =>
  listBaseModels({ named, defaultModel, added: [], folderOfFile, quantization: "8" }, last).map(
    ({ name }) => name,
  );

test("lists the default first: the requested one, else the first named, else the built-in one", () => {
  assert.deepEqual(names([]), ["built-in"]);
  assert.deepEqual(names([qwen, `b=${qwen}`]), ["qwen3", "b", "built-in"]);
  assert.deepEqual(names([qwen, `b=${qwen}`], "b"), ["b", "qwen3", "built-in"]);
  assert.deepEqual(names([qwen], "built-in"), ["built-in", "qwen3"]);
  assert.deepEqual(
    listBaseModels(
      { named: [qwen], defaultModel: null, added: [], folderOfFile, quantization: "8" },
      builtIn,
    )[0],
    {
      name: "qwen3",
      folder: resolve(qwen),
      engine: { kind: "embedded", quantization: "8" },
    },
  );
});

test("allows leaving out the built-in model if there is another", () => {
  assert.deepEqual(names([qwen], null, null), ["qwen3"]);
  assert.throws(() => names([], null, null), { code: "invalid", message: /no base model .* --model/ });
  assert.throws(() => names([qwen], "built-in", null), { code: "invalid", message: /are qwen3\./ });
});

test("refuses an invalid, duplicate or unknown name", () => {
  const check = (named: readonly string[], defaultModel: string | null, message: RegExp): void => {
    assert.throws(() => names(named, defaultModel), { code: "invalid", message });
  };
  check([`a b=${qwen}`], null, /"a b" is no name for a base model/);
  check([qwen, qwen], null, /Two base models are called qwen3/);
  check([`built-in=${qwen}`], null, /Two base models are called built-in/);
  check(
    [qwen],
    "gone",
    /The default model is gone, but the base models are qwen3, built-in\. .*--default-model.*hone models add/,
  );
});

test("lists an unreadable model with its fault next to the others", () => {
  const broken = (file: string): string => {
    throw file.includes("full")
      ? Object.assign(new Error("no room"), { code: "ENOSPC" })
      : new Error("cut off");
  };
  const faults = (named: readonly string[], defaultModel: string | null = null) =>
    listBaseModels(
      { named, defaultModel, added: [], folderOfFile: broken, quantization: "off" },
      builtIn,
    ).map(({ name, fault }) => [name, fault?.message]);
  const none = ["built-in", undefined];
  const noModel = `${resolve("test")} is not a model: it is neither a folder with a config.json nor a GGUF file.`;
  assert.deepEqual(faults(["test"]), [["test", noModel], none]);
  assert.deepEqual(faults(["a=no/such/folder"], "built-in")[0], none);
  assert.deepEqual(faults(["x=a/cut.gguf"]), [["x", "cut off"], none]);
  assert.match(String(faults(["a/full.gguf"])[0][1]), /disk of the server's data is full/);
  const hub = faults(["someone/else:Q4_1@main", "x=someone/else"]);
  assert.deepEqual(
    hub.map(([name]) => name),
    ["else", "x", "built-in"],
  );
  assert.match(
    String(hub[0][1]),
    /no folder someone\/else:Q4_1@main here.*`hone models add someone\/else:Q4_1@main`/,
  );
  assert.match(String(hub[1][1]), /`hone models add someone\/else --name x`/);
});

test("lists a GGUF file as the folder made of it, under the file's name", () => {
  assert.deepEqual(names(["models/qwen.Q8_0.gguf"]), ["qwen.Q8_0", "built-in"]);
  assert.deepEqual(names(["q=qwen-00001-of-00003.gguf", "qwen-00001-of-00003.gguf"]), [
    "q",
    "qwen",
    "built-in",
  ]);
});

test("serves all added models after the built-in one, or only the named ones, by name or source", () => {
  const added = [
    { name: "smol", path: qwen, source: "someone/smol", license: "mit", hasWeights: true },
    {
      name: "file",
      path: "models/file/qwen.Q8_0.gguf",
      source: "/models/qwen.Q8_0.gguf",
      license: null,
      hasWeights: true,
    },
  ];
  const list = (named: readonly string[]) =>
    listBaseModels({ named, defaultModel: null, added, folderOfFile, quantization: "off" }, builtIn);
  const namesOf = (named: readonly string[]): readonly string[] => list(named).map(({ name }) => name);
  assert.deepEqual(namesOf([]), ["built-in", "smol", "file"]);
  assert.deepEqual(list([])[1], {
    name: "smol",
    folder: qwen,
    engine: { kind: "embedded", quantization: "off" },
    license: "mit",
  });
  assert.equal(list([])[2]?.folder, qwen);
  assert.deepEqual(namesOf(["file"]), ["file", "built-in"]);
  assert.deepEqual(namesOf(["SomeOne/Smol"])[0], "smol");
  assert.deepEqual(namesOf(["someone/smol", qwen]), ["smol", "qwen3", "built-in"]);
  assert.deepEqual(namesOf([`smol=${qwen}`]), ["smol", "built-in"]);
  const only = { named: [], defaultModel: null, added, folderOfFile, quantization: "off" } as const;
  assert.equal(listBaseModels({ ...only, defaultModel: "file" }, builtIn)[0].name, "file");
  assert.equal(listBaseModels(only, null)[0].name, "smol");
});

test("serves a model added without weights only through the named vLLM servers", () => {
  const added = [{ name: "big", path: qwen, source: "someone/big", license: null, hasWeights: false }];
  const list = (named: readonly string[]) =>
    listBaseModels({ named, defaultModel: null, added, folderOfFile, quantization: "off" }, builtIn);
  assert.deepEqual(list([]), [builtIn]);
  const [big] = list(["big=vllm+http://a:8000"]);
  assert.deepEqual(big, { name: "big", folder: qwen, engine: { kind: "vllm", urls: ["http://a:8000"] } });
  for (const name of ["big", "someone/big"])
    assert.match(
      list([name])[0].fault?.message ?? "",
      /big was added without its weights.* --model big=vllm\+http:.*`hone models remove big`/,
    );
});
