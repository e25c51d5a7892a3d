import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { listBaseModels } from "./base-models.ts";

const qwen = "test/fixtures/goldens/models/qwen3";
const added = [{ name: "kept", path: qwen, source: "someone/kept", license: null, hasWeights: true }];

const list = (named: readonly string[]) =>
  listBaseModels(
    { named, defaultModel: null, added, folderOfFile: () => "", quantization: "8" },
    { name: "built-in", folder: "/built-in", engine: { kind: "embedded" } },
  );

test("parses the servers of a model, and the folder of its files", () => {
  assert.deepEqual(list([`big=vllm+http://a:8000?files=${qwen}`])[0], {
    name: "big",
    folder: resolve(qwen),
    engine: { kind: "vllm", urls: ["http://a:8000"] },
  });
  const several = list([`big=vllm+http://a:8000,https://b/team?files=${qwen}`, qwen]);
  assert.deepEqual(several[0].engine, { kind: "vllm", urls: ["http://a:8000", "https://b/team"] });
  assert.deepEqual(several[1]?.engine, { kind: "embedded", quantization: "8" });
});

test("joins servers that a list was split at into one model", () => {
  const [big, other] = list(["big=vllm+http://a:8000", `http://b:8000?files=${qwen}`, `other=${qwen}`]);
  assert.deepEqual(big.engine, { kind: "vllm", urls: ["http://a:8000", "http://b:8000"] });
  assert.equal(other?.name, "other");
});

test("uses the files of a model that was added under the name", () => {
  const [kept] = list(["kept=vllm+http://a:8000"]);
  assert.deepEqual([kept.folder, kept.engine.kind], [qwen, "vllm"]);
});

test("lists a model whose files are not known with its fault and the cure", () => {
  const faultOf = (named: string): string => list([named])[0].fault?.message ?? "";
  assert.match(
    faultOf("big=vllm+http://a:8000"),
    /files of big.*are not known here\..*\?files=\/folder.*hone models add/,
  );
  assert.match(faultOf("big=vllm+http://a:8000?files=test"), /test has no config\.json\. Name a folder/);
});

test("refuses a text that names no server, or too much", () => {
  const check = (named: string, message: RegExp): void => {
    assert.throws(() => list([named]), { code: "invalid", message });
  };
  check("vllm+http://a:8000", /has no name; use --model name=vllm/);
  check("a b=vllm+http://a:8000", /"a b" is no name for a base model/);
  check(`big=vllm+http://a:8000?file=${qwen}`, /names file of a vLLM server; only `files`/);
  check(`big=vllm+http://a:8000?files=${qwen},http://b?files=test`, /names several folders/);
  check(`big=vllm+http://a:8000,http://a:8000?files=${qwen}`, /the vLLM server http:\/\/a:8000 twice/);
  check(`big=vllm+http://user:secret@a:8000?files=${qwen}`, /put its key into HONE_REMOTE_API_KEY/);
  check(`big=vllm+http://a:8000,b?files=${qwen}`, /"b\?files=.*" *, which is no http/);
});
