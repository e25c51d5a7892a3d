// A copy of what is committed, to be broken in peace: built once, then again with one source changed at a time.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Change {
  /** Relative to the tree. */
  readonly file: string;
  readonly text: string;
}

/** What became of a changed source: not compiled, compiled to the same, or where the built file differs first. */
export type Compiled = "invalid" | "same" | { readonly builtFile: string; readonly offset: number };

export class Tree {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Copies the commit, unless the folder is there already. */
  static async open(folder: string, commit: string): Promise<Tree> {
    if (!existsSync(folder)) {
      mkdirSync(folder, { recursive: true });
      const archive = execFileSync("git", ["archive", commit], { maxBuffer: 2 ** 30 });
      execFileSync("tar", ["-x", "-C", folder], { input: archive });
      symlinkSync(realpathSync("node_modules"), join(folder, "node_modules"));
    }
    const tree = new Tree(folder);
    if (!tree.#compile()) throw new Error(`what is committed as ${commit} does not compile`);
    return tree;
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), "utf8");
  }

  /** Runs `use` while the source is changed and built, and puts everything back. */
  async changed<T>(change: Change, use: (compiled: Compiled) => Promise<T>): Promise<T> {
    const builtFile = join("dist", change.file.replace(/\.ts$/, ".js"));
    const source = this.read(change.file);
    const built = this.read(builtFile);
    try {
      writeFileSync(join(this.folder, change.file), change.text);
      if (!this.#compile()) return await use("invalid");
      const offset = firstDifference(built, this.read(builtFile));
      return await use(offset === null ? "same" : { builtFile, offset });
    } finally {
      writeFileSync(join(this.folder, change.file), source);
      writeFileSync(join(this.folder, builtFile), built);
    }
  }

  /** What only unused names make invalid counts as compiled. */
  #compile(): boolean {
    const parameters = [
      "-p",
      ".",
      "--incremental",
      "--tsBuildInfoFile",
      "dist/.tsbuildinfo",
      "--noUnusedLocals",
      "false",
    ];
    const flags = [...parameters, "--noUnusedParameters", "false", "--sourceMap", "false"];
    const { status } = spawnSync(
      process.execPath,
      [join("node_modules", "typescript", "bin", "tsc"), ...flags],
      { cwd: this.folder, stdio: "ignore" },
    );
    return status === 0;
  }
}

function firstDifference(one: string, other: string): number | null {
  if (one === other) return null;
  let at = 0;
  while (one[at] === other[at]) at++;
  return at;
}
