// Runs vLLM's server on the processor, in a separate process and on a free port of the loopback address.
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { present } from "../../../src/base/domain/assert.ts";
import { systemClock } from "../../../src/base/domain/clock.ts";
import { signalTree } from "../../../test/process-tree.ts";
import type { ServedBuild } from "../served-build.ts";

export interface VllmOptions {
  /** Python interpreter of the environment that has vLLM installed. */
  readonly python: string;
  readonly modelFolder: string;
  /** Data type with which vLLM computes, such as `float32`. */
  readonly type: string;
  /** Folder for vLLM's own files and its compiled code, which the next start reuses. */
  readonly cacheFolder: string;
  readonly threads: number;
  /** Maximum number of concurrent requests. */
  readonly streamsMax: number;
  /** True to skip compilation, which takes minutes. */
  readonly isEager: boolean;
}

/** Maximum length of prompt and answer together, in tokens. */
const contextLength = 1024;
const pollMs = 500;

/** Starts `vllm serve` with a model named `endless`. Returns when the server answers, which may take minutes. */
export async function serveVllm(options: VllmOptions): Promise<ServedBuild> {
  const port = await freePort();
  const { program, flags, environment } = commandOf(options, port);
  mkdirSync(options.cacheFolder, { recursive: true });
  const log = join(options.cacheFolder, `server-${options.type}.log`);
  const output = openSync(log, "w");
  const child = spawn(program, flags, {
    stdio: ["ignore", output, output],
    env: { ...process.env, ...environment },
  });
  closeSync(output);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  while (!(await isHealthy(url))) {
    if (child.exitCode !== null) throw new Error(`vLLM does not start; ${log} says why.`);
    await systemClock.sleep(pollMs);
  }
  const processId = present(child.pid, "the id of a process that answers");
  return {
    url,
    apiKey: "none",
    processId,
    cpuSeconds: () => null,
    childrenCpuSeconds: () => null,
    stop: async () => {
      signalTree(processId, "SIGTERM");
      await ended;
    },
  };
}

function commandOf(
  { python, modelFolder, type, cacheFolder, threads, streamsMax, isEager }: VllmOptions,
  port: number,
): {
  readonly program: string;
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
} {
  const program = join(dirname(python), "vllm");
  const flags = ["serve", modelFolder, "--served-model-name", "endless"];
  flags.push("--host", "127.0.0.1", "--port", `${port}`, "--dtype", type);
  flags.push("--max-model-len", `${contextLength}`, "--max-num-seqs", `${streamsMax}`);
  flags.push("--no-enable-log-requests", "--disable-uvicorn-access-log");
  if (isEager) flags.push("--enforce-eager");
  return {
    program,
    flags,
    environment: {
      OMP_NUM_THREADS: `${threads}`,
      VLLM_CPU_OMP_THREADS_BIND: "nobind",
      // Size of vLLM's KV cache in GiB, more than the streams need.
      VLLM_CPU_KVCACHE_SPACE: "2",
      VLLM_CACHE_ROOT: cacheFolder,
      VLLM_LOGGING_LEVEL: "WARNING",
      // Prevents vLLM from looking up the model online and from reporting usage.
      HF_HUB_OFFLINE: "1",
      VLLM_NO_USAGE_STATS: "1",
      // vLLM requires Intel's OpenMP, which its package includes, to be loaded first.
      LD_PRELOAD: join(dirname(dirname(python)), "lib", "libiomp5.so"),
    },
  };
}

async function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      // Safe cast: a server that listens on TCP has an `AddressInfo`.
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
