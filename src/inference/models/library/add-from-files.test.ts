// Tests adding models from files on this machine: which files are taken, and which models are refused.
import assert from "node:assert/strict";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { addFromFiles } from "./add-from-files.ts";
import { ModelLibrary } from "./model-library.ts";

const small = "test/fixtures/goldens/models/llama";

function opened(t: TestContext) {
  const scratch = mkdtempSync(join(tmpdir(), "hone-files-"));
  t.after(() => rmSync(scratch, { recursive: true }));
  const takeLock = () => ({ release: () => undefined });
  const library = new ModelLibrary({ folder: join(scratch, "models"), takeLock, clock: systemClock });
  const add = (path: string, name: string | null = null, withoutWeights = false) =>
    addFromFiles(library, path, { name, reserved: ["built-in"], withoutWeights, report: () => undefined });
  return { scratch, library, add };
}

test("adds a folder with its model's files, under its name or a given one, and its card's licence", async (t) => {
  const { scratch, library, add } = opened(t);
  const folder = join(scratch, "Small");
  cpSync(small, folder, { recursive: true, dereference: true });
  writeFileSync(join(folder, "README.md"), '---\nlanguage: en\nlicense: "mit" \n---\n# Small\n');
  writeFileSync(join(folder, "run.py"), "evil");
  const added = await add(folder);
  assert.deepEqual(
    [added.name, added.license, added.source],
    ["Small", "mit", { kind: "file", path: folder }],
  );
  const names = [
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
  ];
  assert.deepEqual(readdirSync(library.pathOf(added)).toSorted(), [".hone-model", ...names]);
  rmSync(folder, { recursive: true });
  for (const name of names)
    assert.deepEqual(readFileSync(join(library.pathOf(added), name)), readFileSync(join(small, name)));
  assert.equal((await add(small, "other")).name, "other");
  assert.deepEqual(
    library.list().map(({ name }) => name),
    ["Small", "other"],
  );
  await assert.rejects(add(small, "other"), { code: "conflict", message: /The model other already exists/ });
});

test("adds a folder without weights as a description if requested", async (t) => {
  const { scratch, library, add } = opened(t);
  const folder = join(scratch, "Described");
  cpSync(small, folder, { recursive: true, dereference: true });
  rmSync(join(folder, "model.safetensors"));
  await assert.rejects(add(folder), { message: /has no model\.safetensors/ });
  const added = await add(folder, null, true);
  assert.deepEqual(added.source, { kind: "file", path: folder, withoutWeights: true });
  assert.deepEqual(library.find("Described"), added);
  assert.ok(!(await add(small, "whole", true)).files.some(({ name }) => name === "model.safetensors"));
  await assert.rejects(add("test/fixtures/gguf/qwen2.gguf", null, true), {
    code: "unsupported",
    message: /qwen2\.gguf .*cannot be added without its weights; name the folder that it was made from/,
  });
  const other = join(scratch, "Other");
  cpSync(small, other, { recursive: true, dereference: true });
  const config = JSON.parse(readFileSync(join(other, "config.json"), "utf8")) as object;
  writeFileSync(
    join(other, "config.json"),
    JSON.stringify({ ...config, architectures: ["MixtralForCausalLM"] }),
  );
  await assert.rejects(add(other), { code: "unsupported", message: /MixtralForCausalLM/ });
  assert.equal((await add(other, null, true)).name, "Other", "vLLM also computes models of other families");
  rmSync(join(folder, "tokenizer.json"));
  await assert.rejects(add(folder, "broken", true), { message: /tokenizer\.json/ });
});

test("adds a GGUF file by its name, or from a folder that has no other", async (t) => {
  const { scratch, library, add } = opened(t);
  const added = await add("test/fixtures/gguf/qwen2.gguf");
  assert.deepEqual([added.name, library.pathOf(added)], ["qwen2", join(scratch, "models/qwen2/qwen2.gguf")]);
  mkdirSync(join(scratch, "one"));
  copyFileSync("test/fixtures/gguf/qwen3.gguf", join(scratch, "one/a.Q8_0.gguf"));
  assert.equal((await add(join(scratch, "one"))).name, "a.Q8_0");
  copyFileSync("test/fixtures/gguf/qwen3.gguf", join(scratch, "one/b.gguf"));
  await assert.rejects(add(join(scratch, "one")), {
    message: /several GGUF models; name one of a\.Q8_0\.gguf, b\.gguf/,
  });
});

test("skips an image projector next to a model", async (t) => {
  const { scratch, add } = opened(t);
  mkdirSync(join(scratch, "both"));
  copyFileSync("test/fixtures/gguf/gemma3.gguf", join(scratch, "both/gemma-3.Q8_0.gguf"));
  for (const name of ["mmproj-F16.gguf", "gemma-3-mmproj-BF16.gguf", "imatrix.gguf"])
    copyFileSync("test/fixtures/gguf/qwen3.gguf", join(scratch, "both", name));
  const added = await add(join(scratch, "both"));
  assert.deepEqual([added.name, added.files.length], ["gemma-3.Q8_0", 1]);
});

test("names the given file or folder in its errors", async (t) => {
  const { scratch, add } = opened(t);
  const refuses = (path: string, ...messages: RegExp[]) =>
    assert.rejects(add(path), (error: Error) => {
      for (const message of messages) assert.match(error.message, message);
      assert.doesNotMatch(error.message, /\.unfinished|\.checked/);
      return true;
    });
  const cut = join(scratch, "cut.gguf");
  writeFileSync(cut, readFileSync("test/fixtures/gguf/qwen2.gguf").subarray(0, -100));
  await refuses(cut, new RegExp(`^${cut} cannot be read`));
  const folder = join(scratch, "Changed");
  cpSync(small, folder, { recursive: true, dereference: true });
  const config = JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as object;
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, intermediate_size: 32 }));
  await refuses(folder, new RegExp(`The weights in ${folder} do not match its config\\.json`));
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, attention_chunk_size: 8 }));
  await refuses(folder, new RegExp(`The model in ${folder} cannot be served`), /attention_chunk_size is 8/);
});

test("refuses a truncated file, no model, a part of one, or links elsewhere, and leaves nothing", async (t) => {
  const { scratch, library, add } = opened(t);
  const refuses = (path: string, message: RegExp) => assert.rejects(add(path), { message });
  const cut = join(scratch, "cut.gguf");
  writeFileSync(cut, readFileSync("test/fixtures/gguf/qwen2.gguf").subarray(0, -100));
  await refuses(cut, /ends at byte \d+, the file has \d+/);
  await refuses("package.json", /neither a GGUF file nor a folder/);
  await refuses("src", /neither a config\.json nor a GGUF file/);
  await refuses("test/fixtures/gguf", /several GGUF models/);
  copyFileSync("test/fixtures/gguf/split-00001-of-00002.gguf", join(scratch, "s-00001-of-00002.gguf"));
  await refuses(
    join(scratch, "s-00001-of-00002.gguf"),
    /one of 2 parts, and .*s-00002-of-00002\.gguf is missing/,
  );
  const linked = join(scratch, "linked");
  cpSync(small, linked, { recursive: true, dereference: true });
  rmSync(join(linked, "tokenizer.json"));
  symlinkSync(resolve(small, "tokenizer.json"), join(linked, "tokenizer.json"));
  await refuses(linked, /tokenizer\.json is a link to .*put the file itself there/);
  const pickled = join(scratch, "pickled");
  cpSync(small, pickled, { recursive: true, dereference: true });
  rmSync(join(pickled, "model.safetensors"));
  writeFileSync(join(pickled, "pytorch_model.bin"), "pickle");
  await refuses(pickled, /has no model\.safetensors; weights in other formats have to be converted/);
  await refuses(join(pickled, "config.json"), /neither a GGUF file nor a folder/);
  await assert.rejects(add(small, "a/b"), { code: "invalid", message: /no name for a model/ });
  assert.deepEqual([library.list(), library.listUnfinished()], [[], []]);
});

test("adds a model from the hub programs' cache under its repository's name", async (t) => {
  const { scratch, library, add } = opened(t);
  const blobs = join(scratch, "models--someone--Small/blobs");
  const snapshot = join(scratch, "models--someone--Small/snapshots/0123abc");
  for (const folder of [blobs, snapshot]) mkdirSync(folder, { recursive: true });
  for (const [index, name] of readdirSync(small).entries()) {
    copyFileSync(join(small, name), join(blobs, `blob${index}`));
    symlinkSync(`../../blobs/blob${index}`, join(snapshot, name));
  }
  const added = await add(snapshot);
  assert.equal(added.name, "Small");
  assert.deepEqual(
    readFileSync(join(library.pathOf(added), "config.json")),
    readFileSync(join(small, "config.json")),
  );
});
