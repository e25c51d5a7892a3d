// Finds the source of this installation of the package, as a dependency for another project's `npm install`. Reads the
// records of package managers next to the installation, and asks no registry.
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface PackageSource {
  /** The dependency in package.json's spelling: a version range, an address, or `file:` with an absolute path. */
  readonly dependency: string;
  /** Absolute path of a local dependency; null for one that other machines can install too. */
  readonly localPath: string | null;
}

const packageName = "hone-server";

/**
 * Returns the source of the package in this folder: its tarball, its address, or the registry. A checkout, or an
 * installation whose tarball is gone, is its own source.
 */
export function packageSource(folder: string, version: string): PackageSource {
  // Package managers link to the real folder, so a linked checkout is recognized as one.
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

/** A package manager's record of an installation. */
interface InstallationRecord {
  /** The dependency, or the resolved address; null for a registry package whose address npm was configured to omit. */
  readonly spec: string | null;
  /** Base folder of relative paths. */
  readonly base: string;
}

/** Returns the record in npm's hidden lockfile; null if npm did not install the package. */
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

/** Returns the dependency of the project above the installation; null if no project names one. */
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

/** Null if the file is missing or not JSON. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // A parent folder may have the record; without any, the installed folder is the source.
    return null;
  }
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  // Safe cast: every object has unknown values by name.
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** True for `^0.1.0`, `>=0.1`, `*`, `latest`, and an alias of a registry package. */
function isVersionRange(spec: string): boolean {
  return /^(?:npm:.+|[\^~<>=v\s]*\d[^/\\:]*|\*|x|latest|next)$/.test(spec) && !isTarball(spec);
}

/** Registries keep tarballs in a package's folder `-`. */
function isRegistryTarball(spec: string): boolean {
  return /^https?:/.test(spec) && spec.includes(`/${packageName}/-/`);
}

function isTarball(spec: string): boolean {
  return /\.(?:tgz|tar\.gz|tar)$/i.test(spec);
}

/** Returns the absolute path of `file:…` or a bare path; null for anything else. */
function localPathOf(spec: string, base: string): string | null {
  if (spec.startsWith("file:///") && URL.canParse(spec)) return fileURLToPath(spec);
  const path = /^(?:file|link|portal):(.+)$/.exec(spec)?.[1] ?? (isTarball(spec) ? spec : null);
  return path === null ? null : resolve(base, path);
}

function localSource(path: string): PackageSource {
  // Slashes on Windows too: in a `file:` address, npm reads a backslash as a slash, but other package managers do not.
  return { dependency: `file:${path.replaceAll("\\", "/")}`, localPath: path };
}
