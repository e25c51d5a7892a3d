import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { hideSecretsFromChildren, readConfig, redactedConfig } from "./config.ts";
import { remoteTrainer } from "./remote-trainer.ts";

const none = { trainer: null, trainerKey: null };
const tuft = "tinker+http://there:8000?kind=tuft";

test("reads the key from the environment or a file, and requires a key if the trainer does", (t) => {
  const data = mkdtempSync(join(tmpdir(), "hone-trainer-key-"));
  t.after(() => rmSync(data, { recursive: true }));
  const file = join(data, "key");
  writeFileSync(file, "from-file\n");
  assert.equal(remoteTrainer(none), null);
  const keyOf = (key: string): string | undefined =>
    remoteTrainer(readConfig({ data, trainer: tuft }, { HONE_TRAINER_KEY: key }).server)?.apiKey;
  assert.equal(keyOf("given"), "given");
  assert.equal(keyOf(`file:${file}`), "from-file");
  assert.throws(() => keyOf(""), /kind tuft require a key: set HONE_TRAINER_KEY/);
  assert.throws(() => keyOf(`file:${join(data, "none")}`), /HONE_TRAINER_KEY names .*ENOENT/);
  writeFileSync(file, "\n");
  assert.throws(() => keyOf(`file:${file}`), /HONE_TRAINER_KEY names .*it is empty/);
  const free = remoteTrainer({ ...none, trainer: "tinker+http://there?kind=skyrl-jax" });
  assert.ok((free?.apiKey ?? "").length > 0);
});

test("refuses an invalid trainer address at the start, never shows the key, and hides it from child processes", (t) => {
  const data = mkdtempSync(join(tmpdir(), "hone-trainer-key-"));
  t.after(() => rmSync(data, { recursive: true }));
  assert.throws(() => readConfig({ data, trainer: "http://there" }, {}), /HONE_TRAINER cannot be used: /);
  const environment = { HONE_TRAINER: tuft, HONE_TRAINER_KEY: "hidden" };
  const config = readConfig({ data }, environment);
  assert.equal(remoteTrainer(config.server)?.apiKey, "hidden");
  assert.ok(!JSON.stringify(redactedConfig(config)).includes("hidden"));
  hideSecretsFromChildren(environment);
  assert.ok(!("HONE_TRAINER_KEY" in environment));
});
