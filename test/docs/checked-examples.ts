// Checks the types of the documentation's TypeScript as if it were in a program that has installed the package.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Maps the package's import names to files of this checkout. */
const paths = { "hone-server/client": [resolve("src/apps/client/index.ts")] };

/**
 * Checks the types of every TypeScript block of these pages.
 * @returns the number of blocks, and the compiler's errors; empty if there are none
 */
export function checkExamples(pages: readonly string[]): { readonly count: number; readonly faults: string } {
  // The folder is inside the checkout, because the examples need its libraries.
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
