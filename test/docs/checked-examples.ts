// The TypeScript in pages of the documentation, checked as a program of its own that has the package installed.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** What `hone-server/...` is in this checkout. */
const paths = { "hone-server/client": [resolve("src/apps/client/index.ts")] };

/**
 * Checks the types of every block of TypeScript of these pages.
 *
 * @returns how many there are, and what the compiler says of them; empty where all is well
 */
export function checkExamples(pages: readonly string[]): { readonly count: number; readonly faults: string } {
  // Within the checkout, whose libraries it needs.
  const folder = resolve("dist", `examples-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    let count = 0;
    for (const page of pages) {
      const name = page.replaceAll(/\W/g, "-");
      for (const [, code = ""] of readFileSync(page, "utf8").matchAll(/^```ts\n(.*?)^```/gms))
        writeFileSync(join(folder, `${name}-${++count}.ts`), code);
    }
    const compilerOptions = {
      rootDir: resolve("."),
      noEmit: true,
      incremental: false,
      noUnusedLocals: false,
      paths,
    };
    const project = { extends: resolve("tsconfig.json"), compilerOptions, include: ["*.ts"], exclude: [] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
    const compiler = resolve("node_modules/typescript/bin/tsc");
    const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
    return { count, faults: status === 0 ? "" : stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
