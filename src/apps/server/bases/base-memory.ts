// Loads and unloads base models at an administrator's request.
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { BaseMemory } from "../../../api/http/dependencies.ts";
import { findBase, type EngineBase, type EngineBases } from "./served-bases.ts";

export function baseMemoryOf({ bases, failed }: Pick<EngineBases, "bases" | "failed">): BaseMemory {
  const find = (name: string): EngineBase => {
    const isServed =
      bases.some(({ model }) => model.name === name) || failed.some((base) => base.name === name);
    if (!isServed)
      throw unknownBase(
        name,
        bases.map(({ model }) => model.name),
      );
    return findBase({ bases, failed }, name);
  };
  return {
    load: async (name, options) => find(name).engine.load(options),
    unload: async (name) => {
      const { model, engine } = find(name);
      if (model.engine.kind !== "embedded") throw notHere(name);
      await engine.unload();
    },
  };
}

function unknownBase(name: string, served: readonly string[]): ServiceError {
  const message = `The server has no base model ${quoted(name)}. Its base models are ${served.join(", ")}.`;
  return new ServiceError({ code: "not_found", message });
}

function notHere(name: string): ServiceError {
  const message = `The model ${name} runs on vLLM servers and takes no memory of this server, so there is nothing to unload. Stop its vLLM servers to free their memory.`;
  return new ServiceError({ code: "unsupported", message });
}
