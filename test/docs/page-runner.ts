// Runs the code blocks of a page in order, in one folder and next to one server, like a reader who copies the blocks.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inProof } from "../../src/base/domain/testing/search.ts";
import { eventually } from "../running-server.ts";
import { startEchoEnvironment } from "./echo-environment.ts";
import { HandedOverHone } from "./handed-over-hone.ts";
import { readBlocks, savedAs, type Block } from "./page-blocks.ts";

const address = "http://127.0.0.1:8000";
/** Address of an OpenEnv environment in the code blocks of pages. */
const environmentAddress = "http://127.0.0.1:8001";
/** Node 20 has WebSockets only with this flag. */
const nodeFlags = "WebSocket" in globalThis ? [] : ["--experimental-websocket"];
/** Matches a line that starts a server: variables, then the command. */
const serveLine = /^((?:[A-Z_]+=\S+ )*)(?:npx )?hone serve\b(.*)\n?/m;

interface Server {
  readonly url: string;
  readonly dataFolder: string;
  stop(): Promise<void>;
}

/**
 * Runs the code blocks of pages. All pages share one server, except pages whose blocks start a server with other flags.
 */
export class PageRunner {
  readonly #root = mkdtempSync(join(tmpdir(), "hone-pages-"));
  readonly #bin = join(this.#root, "bin");
  readonly #hone = new HandedOverHone();
  readonly #running = new Set<ChildProcess>();
  #shared: Promise<Server> | null = null;
  #isReady: Promise<void> | null = null;

  constructor() {
    mkdirSync(this.#bin);
    writeFileSync(join(this.#bin, "npx"), '#!/bin/sh\nexec "$@"\n');
    chmodSync(join(this.#bin, "npx"), 0o755);
    this.#installPackages();
  }

  /** Makes the checkout's packages and the client importable from all page folders. */
  #installPackages(): void {
    const modules = join(this.#root, "node_modules");
    mkdirSync(join(modules, "hone-server"), { recursive: true });
    for (const name of readdirSync("node_modules"))
      if (!name.startsWith(".")) symlinkSync(resolve("node_modules", name), join(modules, name));
    const client = pathToFileURL(resolve("dist/src/apps/client/index.js")).href;
    writeFileSync(join(modules, "hone-server", "client.js"), `export * from ${JSON.stringify(client)};\n`);
    const manifest = { name: "hone-server", type: "module", exports: { "./client": "./client.js" } };
    writeFileSync(join(modules, "hone-server", "package.json"), JSON.stringify(manifest));
  }

  /**
   * Runs a page's code blocks in `sh`, `ts` and `js`. A block whose first line names a file is saved under that name.
   * If the page's first shell block starts a server with flags or variables, the server gets its own data folder.
   *
   * @param files contents of files to copy into the page's folder beforehand, by name
   * @returns output of all blocks
   */
  async run(page: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
    await (this.#isReady ??= this.#hone.putInto(this.#bin));
    const folder = join(this.#root, page.replaceAll(/\W/g, "-"));
    mkdirSync(folder, { recursive: true });
    for (const [name, source] of Object.entries(files)) symlinkSync(resolve(source), join(folder, name));
    const blocks = readBlocks(page);
    const first = serveLine.exec(blocks.find(({ language }) => language === "sh")?.code ?? "");
    const isShared = first === null || `${first[1]}${first[2]}`.trim() === "";
    const ownData = join(folder, isShared ? "data" : ".hone");
    let server: Server | null = isShared ? await this.#sharedServer() : null;
    if (server !== null) symlinkSync(server.dataFolder, join(folder, ".hone"));
    let own: Server | null = null;
    const said: string[] = [];
    try {
      for (const block of blocks) {
        const place = `${page}:${block.line}`;
        if (block.language === "sh") {
          const { before, serve } = splitAtServe(block.code, place);
          said.push(await this.#runShell(before, folder, server, place));
          if (serve === null || (serve.words === "" && serve.variables === "")) continue;
          await own?.stop();
          server = own = await this.#serve(serve, folder, ownData);
          if (isShared) {
            rmSync(join(folder, ".hone"));
            symlinkSync(server.dataFolder, join(folder, ".hone"));
          }
        } else if (block.language === "ts" || block.language === "js") {
          said.push(await this.#runScript(block, folder, server, place));
        }
      }
    } finally {
      await own?.stop();
    }
    return said.join("\n");
  }

  /** Stops all servers and deletes all files. */
  close(): void {
    this.#hone.close();
    for (const child of this.#running) child.kill("SIGKILL");
    rmSync(this.#root, { recursive: true, force: true });
  }

  #sharedServer(): Promise<Server> {
    return (this.#shared ??= this.#serve({ variables: "", words: "" }, this.#root, join(this.#root, "data")));
  }

  /** Starts a server on a free port and waits until it is healthy. */
  async #serve(serve: Serve, folder: string, usualData: string): Promise<Server> {
    const named = /(?:^| )--data (\S+)/.exec(serve.words)?.[1];
    const dataFolder = named === undefined ? usualData : resolve(folder, named);
    const words = serve.words.replace(/ --port \S+/, "");
    const child = spawn("bash", ["-c", `${serve.variables}exec hone serve ${words}`], {
      cwd: folder,
      env: { ...this.#environment(), HONE_PORT: "0", HONE_DATA: dataFolder },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#running.add(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
    const url = await eventually("it listens", async () => {
      assert.equal(child.exitCode, null, `hone serve ${words}:\n${output}`);
      return /listening on (http:\S+)/.exec(output)?.[1] ?? null;
    });
    await eventually("it is healthy", async () => (await fetch(`${url}/health`)).ok || null);
    const stop = async (): Promise<void> => {
      const ended = new Promise((end) => child.once("close", end));
      child.kill("SIGTERM");
      await ended;
      this.#running.delete(child);
    };
    return { url, dataFolder, stop };
  }

  #environment(): NodeJS.ProcessEnv {
    const { HONE_URL: _, HONE_API_KEY: __, ...rest } = process.env;
    return { ...rest, PATH: `${this.#bin}:${process.env["PATH"]}` };
  }

  async #runShell(code: string, folder: string, server: Server | null, place: string): Promise<string> {
    if (code.trim() === "") return "";
    const script = code
      .replaceAll(address, server?.url ?? address)
      .replaceAll("curl ", "curl --fail-with-body -sS ");
    return this.#run("bash", ["-euo", "pipefail", "-c", script], { folder, server, place });
  }

  async #runScript(block: Block, folder: string, server: Server | null, place: string): Promise<string> {
    const name = savedAs(block) ?? "block.mjs";
    const environment = block.code.includes(environmentAddress) ? await startEchoEnvironment() : null;
    const code = shortened(block.code)
      .replaceAll(address, server?.url ?? address)
      .replaceAll(environmentAddress, environment?.url ?? environmentAddress);
    writeFileSync(join(folder, name), code);
    try {
      if (savedAs(block) !== null) return "";
      return await this.#run(process.execPath, [...nodeFlags, name], { folder, server, place });
    } finally {
      await environment?.close();
    }
  }

  async #run(
    program: string,
    words: readonly string[],
    {
      folder,
      server,
      place,
    }: { readonly folder: string; readonly server: Server | null; readonly place: string },
  ): Promise<string> {
    const env = { ...this.#environment(), ...(server === null ? {} : credentials(server)) };
    const child = spawn(program, words, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    this.#running.add(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
    const status = await new Promise((end) => child.once("close", end));
    this.#running.delete(child);
    assert.equal(status, 0, `${place}:\n${output}`);
    return output;
  }
}

interface Serve {
  readonly variables: string;
  readonly words: string;
}

/** Splits a shell block into commands, and the server that its last line starts; null if it starts none. */
function splitAtServe(
  code: string,
  place: string,
): { readonly before: string; readonly serve: Serve | null } {
  const match = serveLine.exec(code);
  if (match === null) return { before: code, serve: null };
  assert.equal(code.slice(match.index + match[0].length), "", `${place}: nothing follows hone serve`);
  const words = (match[2] ?? "").replace(/\s+#.*$/, "").trim();
  return { before: code.slice(0, match.index), serve: { variables: match[1] ?? "", words } };
}

function credentials({ url, dataFolder }: Server): NodeJS.ProcessEnv {
  return { HONE_URL: url, HONE_API_KEY: readFileSync(join(dataFolder, "admin-key"), "utf8").trim() };
}

/** Shortens training loops as far as possible, except in the proof. */
function shortened(code: string): string {
  if (inProof.skip === false) return code;
  return code.replaceAll(/\brounds: \d+/g, "rounds: 1").replaceAll(/\bgroupSize: \d+/g, "groupSize: 2");
}
