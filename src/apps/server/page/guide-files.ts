// Reads the guide from the folder in which `npm run build` made it. A file is read when a browser asks for it.
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { GuideFiles } from "../../../base/domain/page-files.ts";
import { packageFolder } from "../package.ts";

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json; charset=utf-8",
  png: "image/png",
};

/** Returns the guide in a folder. The list of its files is read once, so no other path can be asked for. */
export function guideFiles(folder = join(packageFolder(), "dist", "guide")): GuideFiles {
  let listed: ReadonlySet<string> | null = null;
  const names = (): ReadonlySet<string> => (listed ??= namesIn(folder));
  return {
    isBuilt: () => names().has("index.html"),
    read: async (path) => {
      if (!names().has(path)) return null;
      const bytesOf = async (suffix: string): Promise<Uint8Array | undefined> =>
        names().has(path + suffix) ? await readFile(join(folder, path + suffix)) : undefined;
      const [identity, gzip, br] = await Promise.all([
        readFile(join(folder, path)),
        bytesOf(".gz"),
        bytesOf(".br"),
      ]);
      const contentType = contentTypes[/\.(\w+)$/.exec(path)?.[1] ?? ""] ?? "application/octet-stream";
      return { contentType, bytes: { identity, ...(gzip && { gzip }), ...(br && { br }) } };
    },
  };
}

function namesIn(folder: string): ReadonlySet<string> {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return new Set(
      entries
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join("/")),
    );
  } catch {
    return new Set();
  }
}
