// Reads a built site into memory when a browser first requests it. If a new build replaces the site while the server
// runs, the server returns the old files until it restarts, so that it never mixes files of two builds.
import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { SiteFile, SiteFiles } from "../../../base/domain/site-files.ts";

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json; charset=utf-8",
  png: "image/png",
};

/**
 * Returns a function that returns the site in a folder. While the folder has no site, each call looks for it again;
 * afterwards the files are cached.
 */
export function siteReader(folder: string): () => Promise<SiteFiles> {
  let site: SiteFiles | null = null;
  return async () => {
    if (site !== null) return site;
    const files = await readSite(folder);
    if (files.size > 0) site = files;
    return files;
  };
}

async function readSite(folder: string): Promise<SiteFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = new Set(
    entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join("/")),
  );
  const bytesOf = async (path: string): Promise<Uint8Array | undefined> =>
    paths.has(path) ? await readFile(join(folder, path)) : undefined;
  const readOne = async (path: string): Promise<[string, SiteFile]> => {
    const [identity, gzip, br] = await Promise.all([
      readFile(join(folder, path)),
      bytesOf(`${path}.gz`),
      bytesOf(`${path}.br`),
    ]);
    const contentType = contentTypes[/\.(\w+)$/.exec(path)?.[1] ?? ""] ?? "application/octet-stream";
    return [path, { contentType, bytes: { identity, ...(gzip && { gzip }), ...(br && { br }) } }];
  };
  return new Map(await Promise.all([...paths].filter((path) => !/\.(?:gz|br)$/.test(path)).map(readOne)));
}
