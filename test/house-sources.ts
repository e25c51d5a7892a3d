// Reads the sources of src/ and their imports, for house.test.ts and invariants.test.ts.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Source {
  /** Path in the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export function sources(): readonly Source[] {
  return readdirSync("src", { recursive: true })
    .map((name) => String(name).replaceAll("\\", "/"))
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({
      path: `src/${name}`,
      text: readFileSync(join("src", name), "utf8"),
    }));
}

/** True for tests and code that only tests use. */
export const isTest = (path: string): boolean => path.endsWith(".test.ts") || path.includes("/testing/");

/** True for product code. */
export const isProduct = ({ path }: Pick<Source, "path">): boolean =>
  !isTest(path) && !/\/(testing|contract)\//.test(path);

/** Returns each module that a source imports or re-exports, statically or dynamically. */
export function importsOf(text: string): readonly string[] {
  const withoutComments = text.replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, "");
  const pattern =
    /(?:^|[\s;}])(?:import|export)\s(?:[^"'`;]*?\sfrom\s)?["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g;
  return [...withoutComments.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? "");
}

export function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? "");
}
