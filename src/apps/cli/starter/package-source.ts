// Finds out where this installation of the package came from, so that another project can depend on the same source.
// Reads the records of package managers next to the installation, without network access.
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface PackageSource {
  /** The dependency as written in package.json: a version range, an address, or `file:` with an absolute path. */
  readonly dependency: string;
  /** Absolute path of a dependency on this machine; null for a dependency that other machines can install too. */
  readonly localPath: string | null;
}

const packageName = "hone-server";

/**
 * Returns the source of the package installed in a folder: a tarball, an address, or the registry. For a checkout, or
 * if the tarball no longer exists, the source is the folder itself.
 */
export function packageSource(folder: string, version: string): PackageSource {
  // A package manager's link resolves to the real folder, so a linked checkout is recognized as a checkout.
  if (basename(dirname(folder)) !== "node_modules") return localSource(folder);
  const installed = npmRecord(folder) ?? projectRecord(folder);
  if (installed === null) return localSource(folder);
  const { spec, base } = installed;
  if (spec === null || isVersionRange(spec) || isRegistryTarball(spec))
    return { dependency: `^${version}`, localPath: null };
  if (/^(?:https?|git(?:\+\w+)?):/.test(spec)) return { dependency: spec, localPath: null };
  const path = localPathOf(spec, base);
  return localSource(path !== null && existsSync(path) ? path : folder);
}

/** A package manager's record of the installed package. */
interface InstallationRecord {
  /** The dependency, or its resolved address. Null for a registry package if npm is configured to omit addresses. */
  readonly spec: string | null;
  /** Folder that relative paths in the record start from. */
  readonly base: string;
}

/** Returns the package's entry in npm's hidden lockfile; null if npm did not install the package. */
function npmRecord(folder: string): InstallationRecord | null {
  for (const base of ancestors(dirname(folder))) {
    const lock = readJson(join(base, "node_modules", ".package-lock.json"));
    const entry = member(member(lock, "packages"), relative(base, folder).replaceAll("\\", "/"));
    if (entry === undefined) continue;
    const spec = member(entry, "resolved");
    return { spec: typeof spec === "string" ? spec : null, base };
  }
  return null;
}

/** Returns the dependency in the package.json of the nearest parent folder that lists one; null if none does. */
function projectRecord(folder: string): InstallationRecord | null {
  for (const base of ancestors(dirname(folder))) {
    const manifest = readJson(join(base, "package.json"));
    for (const field of ["dependencies", "devDependencies", "optionalDependencies"]) {
      const spec = member(member(manifest, field), packageName);
      if (typeof spec === "string") return { spec, base };
    }
  }
  return null;
}

function* ancestors(folder: string): Generator<string, void> {
  for (let each = dirname(folder); ; each = dirname(each)) {
    yield each;
    if (dirname(each) === each) return;
  }
}

/** Returns the file's parsed JSON; null if the file is missing or not JSON. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // A parent folder may contain the record; otherwise the installed folder is the source.
    return null;
  }
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  // Safe cast: members of an object can be read as unknown.
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** True for `^0.1.0`, `>=0.1`, `*`, `latest`, or an alias of a registry package. */
function isVersionRange(spec: string): boolean {
  return /^(?:npm:.+|[\^~<>=v\s]*\d[^/\\:]*|\*|x|latest|next)$/.test(spec) && !isTarball(spec);
}

/** True for a tarball's address in a registry, which stores tarballs below `<package>/-/`. */
function isRegistryTarball(spec: string): boolean {
  return /^https?:/.test(spec) && spec.includes(`/${packageName}/-/`);
}

function isTarball(spec: string): boolean {
  return /\.(?:tgz|tar\.gz|tar)$/i.test(spec);
}

/** Returns the absolute path of a `file:` dependency, a link, or a bare path of a tarball; null for any other text. */
function localPathOf(spec: string, base: string): string | null {
  if (spec.startsWith("file:///") && URL.canParse(spec)) return fileURLToPath(spec);
  const path = /^(?:file|link|portal):(.+)$/.exec(spec)?.[1] ?? (isTarball(spec) ? spec : null);
  return path === null ? null : resolve(base, path);
}

function localSource(path: string): PackageSource {
  // Backslashes become slashes, also on Windows: npm accepts both in a `file:` address, other package managers only
  // slashes.
  return { dependency: `file:${path.replaceAll("\\", "/")}`, localPath: path };
}
