import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  addToChildEnvironment,
  allSettings,
  removedFlags,
  hideSecretsFromChildren,
  readClientSettings,
  readConfig,
  readHubSettings,
} from "./config.ts";
import { sections } from "./settings.ts";

function withDataFolder(file: unknown, use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "hone-config-"));
  try {
    if (file !== undefined) {
      writeFileSync(join(folder, "hone.json"), typeof file === "string" ? file : JSON.stringify(file));
    }
    use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("prefers flags over the environment, the environment over the file, and the file over the defaults", () => {
  withDataFolder({ server: { port: 1, host: "127.0.0.2", entity: "file" } }, (data) => {
    const config = readConfig({ port: "3" }, { HONE_DATA: data, HONE_PORT: "2", HONE_HOST: "127.0.0.3" });
    assert.equal(config.server.port, 3);
    assert.equal(config.server.host, "127.0.0.3");
    assert.equal(config.server.entity, "file");
    assert.equal(config.server.drainSeconds, 30);
    assert.equal(config.server.data, data);
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.server));
  });
});

test("treats an empty variable as unset, except for a list", () => {
  withDataFolder({ server: { port: 1 } }, (data) => {
    const empty = { HONE_DATA: "", HONE_PORT: "", HONE_HOST: "", HONE_API_KEY: "", HONE_AUTH: "" };
    const { server } = readConfig({ data }, empty);
    assert.deepEqual([server.port, server.host, server.apiKey, server.auth], [1, "127.0.0.1", null, "on"]);
    assert.throws(
      () => readConfig({ data }, { HONE_ROLES: "" }),
      /HONE_ROLES is ""; it must be serve, train/,
    );
    const client = readClientSettings({ ...empty, HONE_URL: "", HONE_BASE_URL: "" });
    assert.deepEqual(client, { url: "http://127.0.0.1:8000", apiKey: null, toApiKey: null, data: ".hone" });
  });
});

test("prefixes a section's settings with its name", () => {
  const threads = allSettings().find(({ section, name }) => section === "engine" && name === "threads");
  assert.equal(threads?.flag, "--engine-threads");
  assert.equal(threads?.variable, "HONE_ENGINE_THREADS");
  withDataFolder({ engine: { threads: 3 } }, (data) => {
    assert.equal(readConfig({ data }, {}).engine.threads, 3);
    assert.equal(readConfig({ data }, { HONE_ENGINE_THREADS: "4" }).engine.threads, 4);
    assert.equal(readConfig({ data, "engine-threads": "5" }, {}).engine.threads, 5);
  });
});

test("gives every setting one flag, one variable and a sentence", () => {
  const all = allSettings();
  const inSections = Object.entries(sections).flatMap(([section, { schema }]) =>
    Object.keys(schema).map((name) => `${section}.${name}`),
  );
  assert.deepEqual(all.map(({ section, name }) => `${section}.${name}`).sort(), inSections.sort());
  assert.equal(new Set(all.map(({ flag }) => flag)).size, all.length);
  assert.equal(new Set(all.map(({ variable }) => variable)).size, all.length);
  for (const { flag, setting } of all) assert.match(setting.about, /\.$/, flag);
});

test("computes unset defaults from the machine's cores and memory", () => {
  withDataFolder(undefined, (data) => {
    const machine = { coreCount: 6, memoryBytes: 8e9 };
    const { engine, training } = readConfig({ data, "engine-kv-cache-bytes-max": "3" }, {}, machine);
    assert.deepEqual([engine.threads, engine.kvCacheBytesMax, training.memoryBytes], [6, 3, 6e9]);
    assert.equal(readConfig({ data }, {}, machine).engine.kvCacheBytesMax, 2e9);
  });
});

test("refuses a removed setting in every spelling, and names its replacement", () => {
  const now = /is no longer a setting: training\.batchTokens sets /;
  withDataFolder({ training: { minibatchTokens: 9 } }, (data) =>
    assert.throws(() => readConfig({ data }, {}), now),
  );
  withDataFolder(undefined, (data) => {
    assert.throws(() => readConfig({ data }, { HONE_TRAINING_MINIBATCH_TOKENS: "9" }), now);
    assert.throws(() => readConfig({ data, "training-minibatch-tokens": "9" }, {}), now);
    for (const flag of removedFlags())
      assert.throws(
        () => readConfig({ data, [flag.slice(2)]: "9" }, {}),
        /: --.* is no longer a setting: .*\.$/,
      );
  });
});

test("refuses unknown settings and values out of range, and names the setting", () => {
  withDataFolder({ server: { prot: 1 } }, (data) =>
    assert.throws(() => readConfig({ data }, {}), /no setting server\.prot/),
  );
  withDataFolder({ sever: { port: 1 } }, (data) =>
    assert.throws(() => readConfig({ data }, {}), /no setting sever\.port/),
  );
  withDataFolder("{", (data) => assert.throws(() => readConfig({ data }, {}), /is not JSON/));
  withDataFolder([], (data) => assert.throws(() => readConfig({ data }, {}), /object of sections/));
  withDataFolder({ server: { port: -1 } }, (data) =>
    assert.throws(
      () => readConfig({ data }, {}),
      /hone\.json: server\.port is -1; it must be between 0 and 65535/,
    ),
  );
  withDataFolder(undefined, (data) => {
    assert.throws(() => readConfig({ data }, { HONE_PROT: "1" }), /Unknown environment variable HONE_PROT/);
    assert.throws(
      () => readConfig({ data, "database-url": "mysql://u:secret@h/d" }, {}),
      (error) => {
        assert.ok(error instanceof Error && /must be postgres:/.test(error.message));
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
    for (const url of ["postgres://u:secret@h/d", "postgresql://h/d", "file:hone.db"])
      assert.equal(readConfig({ data, "database-url": url }, {}).server.databaseUrl, url);
  });
});

test("resolves the folder of adapters and files to an absolute path", () => {
  withDataFolder(undefined, (data) => {
    assert.equal(readConfig({ data }, {}).server.blobs, null);
    assert.equal(readConfig({ data }, { HONE_BLOBS: "shared" }).server.blobs, join(process.cwd(), "shared"));
    const bucket = "s3://bucket/hone";
    assert.equal(readConfig({ data, blobs: bucket }, {}).server.blobs, bucket);
    for (const blobs of ["https://bucket/hone", ""])
      assert.throws(
        () => readConfig({ data, blobs }, {}),
        /HONE_BLOBS is ".*"; it must be a folder or a bucket/,
      );
    for (const blobs of [
      "s3://",
      "s3://No_Bucket/hone",
      "s3://bucket/a/../b",
      `s3://bucket/${"a".repeat(300)}`,
    ])
      assert.throws(() => readConfig({ data, blobs }, {}), /it must be `s3:..<bucket>`/);
  });
});

test("accepts one role or both, but a single one only with a database for several servers", () => {
  withDataFolder(undefined, (data) => {
    assert.deepEqual(readConfig({ data }, {}).server.roles, ["serve", "train"]);
    const many = { data, "database-url": "postgres://h/d" };
    for (const roles of ["train", "serve", "train,serve"])
      assert.deepEqual(readConfig({ ...many, roles }, {}).server.roles, roles.split(","));
    for (const roles of ["", "serve,teach"])
      assert.throws(() => readConfig({ ...many, roles }, {}), /it must be serve, train, or serve,train/);
    assert.throws(() => readConfig({ data, roles: "train" }, {}), /HONE_ROLES is "train".*PostgreSQL/);
  });
});

test("allows disabled authentication only on a loopback address", () => {
  withDataFolder(undefined, (data) => {
    assert.equal(readConfig({ data, auth: "off" }, {}).server.auth, "off");
    assert.throws(() => readConfig({ data, auth: "off", host: "0.0.0.0" }, {}), /only on a loopback address/);
  });
});

test("keeps existing variables in the environment of child processes", () => {
  const environment: NodeJS.ProcessEnv = { A: "mine" };
  addToChildEnvironment({ A: "other", B: "new" }, environment);
  assert.deepEqual(environment, { A: "mine", B: "new" });
});

test("hides secrets from child processes", () => {
  const environment = {
    HONE_API_KEY: "hone_secret",
    HONE_DATABASE_URL: "file:a",
    HONE_PORT: "1",
    PATH: "/bin",
  };
  hideSecretsFromChildren(environment);
  assert.deepEqual(environment, { HONE_PORT: "1", PATH: "/bin" });
});

test("reads the model hub's address and token from the same variables as the hub's own programs", () => {
  assert.deepEqual(readHubSettings({}), { endpoint: "https://huggingface.co", token: null });
  assert.deepEqual(readHubSettings({ HF_ENDPOINT: "https://mirror/hub//", HF_TOKEN: " hf_a\n" }), {
    endpoint: "https://mirror/hub",
    token: "hf_a",
  });
  assert.deepEqual(readHubSettings({ HF_ENDPOINT: "", HF_TOKEN: "" }).token, null);
});
