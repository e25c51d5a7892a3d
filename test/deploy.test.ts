// Checks the deployment files and their guides. Every variable, path, port and time in them must exist in the server.
// Each program that reads one of the files must accept it, if the program is installed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { present } from "../src/base/domain/assert.ts";
import { allSettings, readConfig } from "../src/apps/server/config.ts";
import { attemptsWith, openRoutes } from "./entity-routes.ts";
import { namesOf } from "./two-entities.ts";

const compositions = ["compose.yaml", "deploy/distributed/compose.yaml"];
const caddyfiles = ["deploy/Caddyfile", "deploy/distributed/Caddyfile"];
const files = ["Dockerfile", ...compositions, "deploy/hone.service", ...caddyfiles, "deploy/nginx.conf"];
const page = "docs/guides/deploy.md";
const pages = [page, "docs/guides/distributed.md"];
const textOf = (file: string): string => readFileSync(file, "utf8");
const { server, http } = readConfig({}, {});
const settings = allSettings();

/** Returns all texts in the file that the pattern's group matches. Fails if there is none. */
function found(file: string, pattern: RegExp): readonly string[] {
  const all = [...textOf(file).matchAll(pattern)].map(([whole, group]) => group ?? whole);
  assert.ok(all.length > 0, `${file} has ${pattern.source}`);
  return all;
}

test("the files use only variables and settings that exist", () => {
  const variables = new Set([...settings.map(({ variable }) => variable), "HONE_URL"]);
  const keys = new Set(settings.map(({ section, name }) => `${section}.${name}`));
  const sections = new Set(settings.map(({ section }) => section));
  for (const file of [...files, ...pages]) {
    for (const variable of textOf(file).match(/\bHONE_[A-Z_]+\b/g) ?? [])
      assert.ok(variables.has(variable), `${file}: ${variable}`);
    for (const [key, section = ""] of textOf(file).matchAll(/\b([a-z]+)\.[a-z]+[A-Z]\w+\b/g))
      if (sections.has(section as never)) assert.ok(keys.has(key), `${file}: ${key}`);
  }
});

test("the files use the server's port, and only paths that are routes", () => {
  for (const file of [...files, ...pages])
    for (const port of textOf(file).match(/(?<=127\.0\.0\.1:|localhost:|EXPOSE |\?\? )\d{2,}/g) ?? [])
      assert.equal(Number(port), server.port, file);
  const things = namesOf("some");
  const routes = [...openRoutes, ...Object.keys(attemptsWith(things, things))].map(
    (route) => route.split(" ")[1],
  );
  const paths = [
    ...caddyfiles.flatMap((file) => found(file, /@operator path (.*)/g)).flatMap((list) => list.split(" ")),
    ...found("deploy/nginx.conf", /\^\/\(([^)]*)\)/g).flatMap((list) =>
      list.split("|").map((one) => `/${one}`),
    ),
    ...found("Dockerfile", /\}(\/\w+)`/g),
    ...found(page, /`(?:GET|POST) (\/[\w/-]+)`/g),
  ];
  assert.ok(paths.length >= 9);
  for (const path of paths) assert.ok(routes.includes(path), `${path} is a route`);
});

test("grace periods exceed the server's drain time, and proxies accept the largest request body", () => {
  const waits = [
    ...compositions.flatMap((file) => found(file, /stop_grace_period: (\d+)s/g)),
    ...found("deploy/hone.service", /TimeoutStopSec=(\d+)/g),
    ...found(page, /--stop-timeout (\d+)/g),
  ];
  for (const seconds of waits) assert.ok(Number(seconds) > server.drainSeconds);
  const largest = present(
    settings.find(({ section, name }) => section === "http" && name === "bodyBytes"),
    "the setting",
  ).setting;
  assert.ok(largest.kind === "integer" && largest.max >= http.bodyBytes);
  const bodies = [
    ...caddyfiles.flatMap((file) => found(file, /max_size (\d+)MiB/g)),
    ...found("deploy/nginx.conf", /client_max_body_size (\d+)m;/g),
  ];
  for (const mebibytes of bodies) assert.ok(Number(mebibytes) * 2 ** 20 >= largest.max);
});

test("the guides mention only files and commands that exist", () => {
  for (const link of pages.flatMap((one) => found(one, /\]\((?!http|#)([^)#]+)/g)))
    assert.ok(existsSync(join("docs", "guides", link)), `docs/guides/${link}`);
  const { scripts, bin } = JSON.parse(textOf("package.json")) as {
    readonly scripts: Readonly<Record<string, string>>;
    readonly bin: Readonly<Record<string, string>>;
  };
  assert.ok("hone" in bin);
  for (const file of ["Dockerfile", page])
    for (const script of found(file, /npm run (\w+)/g))
      assert.ok(script in scripts, `${file}: npm run ${script}`);
  for (const command of found(page, /\bhone (models add|keys list|models|serve)\b/g)) {
    const { status } = spawnSync(process.execPath, ["bin/hone.js", ...command.split(" "), "--help"]);
    assert.equal(status, 0, `hone ${command}`);
  }
});

/** Returns the reason to skip a test if the program is not installed; otherwise false. */
function leftOut(program: string, ...words: readonly string[]): string | false {
  const isThere = spawnSync(program, words, { stdio: "ignore" }).error === undefined;
  return !isThere && `SKIPPED: ${program} is not installed here`;
}

/** Runs a program on a copy of the file with some texts replaced. */
function withCopy(
  file: string,
  replaced: (folder: string) => Readonly<Record<string, string>>,
  use: (copy: string, folder: string) => void,
): void {
  const folder = mkdtempSync(join(tmpdir(), "hone-deploy-"));
  try {
    let text = textOf(file);
    for (const [old, other] of Object.entries(replaced(folder))) {
      assert.ok(text.includes(old), `${file} has ${old}`);
      text = text.replaceAll(old, other);
    }
    const copy = join(folder, present(file.split("/").at(-1), "a name"));
    writeFileSync(copy, text);
    use(copy, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function succeeds(program: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: "utf8" });
  assert.equal(status, 0, `${program} ${words.join(" ")}: ${stdout}${stderr}`);
  return stdout + stderr;
}

test("systemd accepts the unit file", { skip: leftOut("systemd-analyze", "--version") }, () => {
  const here = () => ({
    "/opt/hone/node_modules/.bin/hone": join(process.cwd(), "bin/hone.js"),
    // The files of this test belong to root.
    "User=hone": "User=root",
    "Group=hone": "Group=root",
  });
  withCopy("deploy/hone.service", here, (unit) => {
    const said = succeeds("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit);
    assert.equal(said.trim(), "");
  });
});

test("nginx accepts the site file", { skip: leftOut("nginx", "-v") }, () => {
  const own = (folder: string) => ({
    "/etc/letsencrypt/live/hone.example.com": folder,
    "listen 80;": `listen unix:${folder}/plain.sock;`,
    "listen 443 ssl;": `listen unix:${folder}/tls.sock ssl;`,
  });
  withCopy("deploy/nginx.conf", own, (site, folder) => {
    const key = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=hone.example.com"];
    const certificate = ["-keyout", join(folder, "privkey.pem"), "-out", join(folder, "fullchain.pem")];
    succeeds("openssl", "req", "-x509", ...key, ...certificate);
    const whole = `pid ${folder}/pid; error_log stderr; events {} http { include ${site}; }`;
    writeFileSync(join(folder, "whole.conf"), whole);
    succeeds("nginx", "-t", "-q", "-p", folder, "-c", join(folder, "whole.conf"));
  });
});

test("Caddy accepts its files", { skip: leftOut("caddy", "version") }, () => {
  for (const file of caddyfiles) succeeds("caddy", "validate", "--adapter", "caddyfile", "--config", file);
});

test("the compose file runs the versions that are tested separately", () => {
  const [vllm = ""] = found("tools/conformance/vllm/run.py", /VERSION = "([\d.]+)"/g);
  for (const image of found("docs/guides/distributed.md", /vllm-openai:v([\d.]+)/g))
    assert.equal(image, vllm);
  const [, together = ""] = compositions;
  const mounted = found(together, /^ +- (\.\.?\/[^:]+):/gm);
  const built = found(together, /(?:build|context): (\.\.\S*)/g);
  for (const path of [...mounted, ...built])
    assert.ok(existsSync(join("deploy/distributed", path)), `${together}: ${path}`);
  for (const dockerfile of found(together, /dockerfile: (\S+)/g))
    for (const [, copied = ""] of textOf(join("tools", "conformance", dockerfile)).matchAll(
      /^COPY (.*) \S+$/gm,
    ))
      for (const file of copied.split(" "))
        assert.ok(existsSync(join("tools", "conformance", file)), `${dockerfile}: ${file}`);
  // The example requests the included model by its name.
  const [model = ""] = found(together, /HONE_MODEL: (\w+)=/g);
  assert.deepEqual(found("docs/guides/distributed.md", /--base-model (\w+)/g), [model]);
});
