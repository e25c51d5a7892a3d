import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { packageSource, type PackageSource } from "./package-source.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "hone-source-")));
after(() => rmSync(root, { recursive: true }));

const registry: PackageSource = { dependency: "^1.2.3", localPath: null };

function local(path: string): PackageSource {
  return { dependency: `file:${path.replaceAll("\\", "/")}`, localPath: path };
}

/**
 * Creates an installation of the package in a project, with the given records, and returns the installation's folder.
 */
function installation(
  project: string,
  records: { readonly dependency?: string; readonly npm?: object },
  place = "node_modules/hone-server",
): string {
  const folder = join(project, place);
  mkdirSync(folder, { recursive: true });
  const dependencies = records.dependency === undefined ? {} : { "hone-server": records.dependency };
  writeFileSync(join(project, "package.json"), JSON.stringify({ dependencies }));
  if (records.npm !== undefined) {
    mkdirSync(join(project, "node_modules"), { recursive: true });
    const packages = { [place]: records.npm };
    writeFileSync(join(project, "node_modules", ".package-lock.json"), JSON.stringify({ packages }));
  }
  return folder;
}

let count = 0;
function newProject(): string {
  count += 1;
  const folder = join(root, `project ${count}`);
  mkdirSync(folder);
  return folder;
}

function newTarball(): string {
  const path = join(root, `hone-server-${count}.tgz`);
  writeFileSync(path, "");
  return path;
}

test("uses a checkout itself as the source", () => {
  assert.deepEqual(packageSource(root, "1.2.3"), local(root));
});

test("reads an installation's tarball, address or registry from npm's lockfile", () => {
  const project = newProject();
  const tarball = newTarball();
  const resolved = (value?: string, place?: string): PackageSource =>
    packageSource(
      installation(project, { npm: value === undefined ? { version: "1.2.3" } : { resolved: value } }, place),
      "1.2.3",
    );
  assert.deepEqual(resolved(`file:../hone-server-${count}.tgz`), local(tarball));
  assert.deepEqual(resolved(`file:${tarball.replaceAll("\\", "/")}`), local(tarball));
  assert.deepEqual(resolved("https://registry.npmjs.org/hone-server/-/hone-server-1.2.3.tgz"), registry);
  assert.deepEqual(resolved("https://mirror.example/npm/hone-server/-/hone-server-1.2.3.tgz"), registry);
  assert.deepEqual(resolved(), registry);
  const address = "https://example.com/releases/hone-server-1.2.3.tgz";
  assert.deepEqual(resolved(address), { dependency: address, localPath: null });
  const workspace = "packages/one/node_modules/hone-server";
  assert.deepEqual(resolved(`file:../hone-server-${count}.tgz`, workspace), local(tarball));
});

test("uses the installed folder if its tarball no longer exists", () => {
  const project = newProject();
  const folder = installation(project, { npm: { resolved: "file:../gone.tgz" } });
  assert.deepEqual(packageSource(folder, "1.2.3"), local(folder));
});

test("uses the dependency in the project's package.json if npm has no record", () => {
  const tarball = newTarball();
  const cases: readonly (readonly [string, PackageSource | "itself"])[] = [
    [`file:../hone-server-${count}.tgz`, local(tarball)],
    [`../hone-server-${count}.tgz`, local(tarball)],
    ["^1.0.0", registry],
    [">=1 <2", registry],
    ["latest", registry],
    ["npm:hone-server@1", registry],
    ["link:../checkout", "itself"],
    ["workspace:*", "itself"],
    ["https://example.com/hone.tgz", { dependency: "https://example.com/hone.tgz", localPath: null }],
    ["git+https://example.com/hone.git", { dependency: "git+https://example.com/hone.git", localPath: null }],
  ];
  for (const [dependency, expected] of cases) {
    const project = newProject();
    const place = "node_modules/.pnpm/hone-server@1.2.3/node_modules/hone-server";
    const folder = installation(project, { dependency }, place);
    const found = packageSource(folder, "1.2.3");
    assert.deepEqual(found, expected === "itself" ? local(folder) : expected, dependency);
  }
});

test("reads the record that a real npm writes for a tarball, and installs from it in another project", () => {
  const parent = newProject();
  const own = join(parent, "own");
  mkdirSync(own);
  writeFileSync(join(own, "package.json"), JSON.stringify({ name: "hone-server", version: "1.2.3" }));
  npm(own, ["pack", "--pack-destination", parent]);
  const [user, other] = [join(parent, "user"), join(parent, "other")];
  for (const folder of [user, other]) mkdirSync(folder);
  writeFileSync(join(user, "package.json"), "{}");
  npm(user, ["install", "../hone-server-1.2.3.tgz"]);
  const source = packageSource(join(user, "node_modules", "hone-server"), "1.2.3");
  assert.deepEqual(source, local(join(parent, "hone-server-1.2.3.tgz")));
  const dependencies = { "hone-server": source.dependency };
  writeFileSync(join(other, "package.json"), JSON.stringify({ dependencies }));
  npm(other, ["install"]);
  assert.ok(readdirSync(join(other, "node_modules")).includes("hone-server"));
});

function npm(folder: string, words: readonly string[]): void {
  const { status, stderr } = spawnSync("npm", [...words, "--offline", "--no-audit", "--no-fund"], {
    cwd: folder,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  assert.equal(status, 0, stderr);
}
