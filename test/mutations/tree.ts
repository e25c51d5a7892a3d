// A copy of the commit, in which mutations are tried. First it is built without changes. Then several changed sources
// are built together, and each changed built file is tried separately.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Change {
  /** Path relative to the tree. */
  readonly file: string;
  /** Text of the whole changed source. */
  readonly text: string;
}

/** Result of building a changed source: it does not compile, compiles to the same code, or compiles to different code. */
export type Built = "invalid" | "same" | BuiltFile;

export interface BuiltFile {
  /** Path relative to the tree. */
  readonly file: string;
  readonly text: string;
  /** Offset of the first difference from the original. */
  readonly offset: number;
}

export class Tree {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Copies the commit and builds it. Also restores sources that an aborted run left mutated. */
  static open(folder: string, commit: string): Tree {
    mkdirSync(folder, { recursive: true });
    const archive = execFileSync("git", ["archive", commit], { maxBuffer: 2 ** 30 });
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
    const modules = join(folder, "node_modules");
    if (!existsSync(modules)) symlinkSync(realpathSync("node_modules"), modules);
    const tree = new Tree(folder);
    const faults = tree.#compile();
    if (faults.length > 0) throw new Error(`${commit} does not compile: ${faults.join(", ")}`);
    return tree;
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), "utf8");
  }

  /** Builds changes of different files in one go, then restores the sources. */
  build(changes: readonly Change[]): readonly Built[] {
    const sources = changes.map(({ file }) => this.read(file));
    const builtFiles = changes.map(({ file }) => join("dist", file.replace(/\.ts$/, ".js")));
    const before = builtFiles.map((file) => this.read(file));
    for (const { file, text } of changes) this.#write(file, text);
    const faults = this.#compile();
    const after = builtFiles.map((file) => this.read(file));
    changes.forEach(({ file }, index) => {
      this.#write(file, sources[index]);
      this.#write(builtFiles[index], before[index]);
    });
    // A change to one file may break the build of another file. In this case, builds the changes one by one to find out
    // which change did it.
    if (changes.length > 1 && faults.some((fault) => !changes.some(({ file }) => file === fault)))
      return changes.flatMap((change) => this.build([change]));
    return changes.map(({ file }, index): Built => {
      if (changes.length === 1 ? faults.length > 0 : faults.includes(file)) return "invalid";
      if (after[index] === before[index]) return "same";
      const offset = firstDifference(before[index], after[index]);
      return { file: builtFiles[index], text: after[index], offset };
    });
  }

  /** Replaces the built file while `use` runs, then restores it. */
  async with<T>({ file, text }: BuiltFile, use: () => Promise<T>): Promise<T> {
    const before = this.read(file);
    try {
      this.#write(file, text);
      return await use();
    } finally {
      this.#write(file, before);
    }
  }

  #write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
  }

  /** Returns the files that do not compile. A name that the mutation leaves unused is not an error. */
  #compile(): readonly string[] {
    const tsc = [join("node_modules", "typescript", "bin", "tsc"), "-p", ".", "--sourceMap", "false"];
    const incremental = ["--incremental", "--tsBuildInfoFile", "dist/.tsbuildinfo"];
    const unused = ["--noUnusedLocals", "false", "--noUnusedParameters", "false", "--pretty", "false"];
    const flags = [...tsc, ...incremental, ...unused];
    const { stdout } = spawnSync(process.execPath, flags, { cwd: this.folder, encoding: "utf8" });
    return [...stdout.matchAll(/^(\S+)\(\d+,\d+\): error/gm)].map(([, file]) => file);
  }
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (one[at] === other[at]) at++;
  return at;
}
