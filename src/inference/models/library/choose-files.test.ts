// Tests which files of a repository are selected, and the errors for repositories without a usable model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseFiles, type RepositoryFile } from "./choose-files.ts";

const listed = (...paths: readonly string[]): readonly RepositoryFile[] =>
  paths.map((path) => ({ path, bytes: 10, checksum: { kind: "sha256", digest: "00" } }));
const pathsOf = (files: readonly RepositoryFile[]): readonly string[] => files.map(({ path }) => path);

const described = [
  "config.json",
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "chat_template.jinja",
];

test("takes a model's descriptions, and its safetensors in one file or in shards", () => {
  const others = [
    "README.md",
    "modeling.py",
    "train.sh",
    "pytorch_model.bin",
    "original/model.safetensors",
    "../x.json",
    "a/../config.json",
    ".gitattributes",
  ];
  const one = chooseFiles("o/n", listed(...described, ...others, "model.safetensors"), null);
  assert.deepEqual(pathsOf(one.descriptions).toSorted(), described.toSorted());
  assert.deepEqual(pathsOf(one.weights), ["model.safetensors"]);
  const shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
  const index = "model.safetensors.index.json";
  const several = chooseFiles(
    "o/n",
    listed(...described, index, ...shards, "consolidated.safetensors"),
    null,
  );
  assert.deepEqual(pathsOf(several.descriptions), [...described, index]);
  assert.deepEqual(pathsOf(several.weights), shards);
});

test("takes a GGUF model by its quantization in any case, with all its parts", () => {
  const files = listed(
    "a.IQ4_NL.gguf",
    "a-f16.gguf",
    "Q4_K_M/a-Q4_K_M-00001-of-00002.gguf",
    "Q4_K_M/a-Q4_K_M-00002-of-00002.gguf",
  );
  const of = (kind: string) => chooseFiles("o/n", files, kind);
  assert.deepEqual(pathsOf(of("iq4_nl").weights), ["a.IQ4_NL.gguf"]);
  assert.deepEqual([of("F16").quantization, pathsOf(of("F16").weights)], ["F16", ["a-f16.gguf"]]);
  assert.equal(of("q4_k_m").weights.length, 2);
  assert.deepEqual(chooseFiles("o/n", listed("some-model.gguf"), null).quantization, null);
});

test("says why a repository has no usable model, and what to do", () => {
  const check = (paths: readonly string[], kind: string | null, message: RegExp): void => {
    assert.throws(() => chooseFiles("o/n", listed(...paths), kind), { code: "unsupported", message });
  };
  check(
    [...described, "pytorch_model.bin"],
    null,
    /pytorch_model\.bin, a format that runs code .*save_pretrained/,
  );
  check(
    ["adapter_config.json", "adapter_model.safetensors"],
    null,
    /adapter and no model.*hone models import/,
  );
  check([...described, "model.safetensors"], "Q4_1", /no GGUF files, so there is no Q4_1 .*-GGUF/);
  check(described, null, /neither model\.safetensors, nor shards with an index, nor GGUF files/);
  check(
    ["a-Q8_0-00001-of-00003.gguf"],
    "Q8_0",
    /has 1 files of the kind Q8_0, and the first says that it is one of 3/,
  );
  const many = Array.from(
    { length: 1001 },
    (_, index) => `model-${String(index).padStart(5, "0")}-of-01001.safetensors`,
  );
  check([...described, "model.safetensors.index.json", ...many], null, /in 1001 files; the maximum is 1000/);
  const large = [
    { ...listed("tokenizer.json")[0], bytes: 1e9 },
    ...listed("config.json", "model.safetensors"),
  ];
  assert.throws(() => chooseFiles("o/n", large, null), {
    message: /tokenizer\.json of 1000000000 bytes; the maximum is/,
  });
});
