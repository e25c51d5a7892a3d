// Runs the same jobs on a server where nothing is killed. Every version must be equal, byte for byte.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { call, newDataFolder, removeDataFolder, startServer, type ServerOptions } from "../running-server.ts";
import { finish, registerModel } from "../served-jobs.ts";

/**
 * Trains each model again.
 *
 * @param made for each model, the training data of its jobs in the order of their versions
 * @returns descriptions of the differences
 */
export async function differentVersions(
  dataFolder: string,
  made: ReadonlyMap<string, readonly object[]>,
  usual: ServerOptions,
): Promise<readonly string[]> {
  const undisturbed = newDataFolder();
  try {
    const trained = await trainAgain(undisturbed, made, usual);
    const different: string[] = [];
    for (const [modelId, bodies] of made) {
      const folders = [
        join(dataFolder, "adapters", modelId),
        join(undisturbed, "adapters", trained.get(modelId) ?? ""),
      ];
      for (let step = 1; step <= bodies.length; step++) {
        for (const name of ["adapter_model.safetensors", "optimizer.safetensors"]) {
          const [one = "", other = ""] = folders.map((folder) => join(folder, `${step}`, name));
          if (!haveSameBytes(one, other)) different.push(`model ${modelId}: ${name} of version ${step}`);
        }
      }
    }
    return different;
  } finally {
    removeDataFolder(undisturbed);
  }
}

/** Trains all models on a new server and stops it; returns the new model ids by the old ones. */
async function trainAgain(
  dataFolder: string,
  made: ReadonlyMap<string, readonly object[]>,
  usual: ServerOptions,
): Promise<ReadonlyMap<string, string>> {
  const trained = new Map<string, string>();
  const server = await startServer({ dataFolder, ...usual });
  try {
    for (const [modelId, bodies] of made) {
      const id = await registerModel(server, modelId);
      trained.set(modelId, id);
      for (const body of bodies) {
        const { body: job } = await call(server, "POST", "/v1/preview/training-jobs", {
          body: { ...body, model_id: id },
        });
        await finish(server, job.id);
      }
    }
    return trained;
  } finally {
    await server.terminate();
  }
}

/** True if the files are equal; also if both are missing. */
function haveSameBytes(one: string, other: string): boolean {
  if (!existsSync(one) || !existsSync(other)) return existsSync(one) === existsSync(other);
  return readFileSync(one).equals(readFileSync(other));
}
