// `hone models load` and `unload`: which base models are in a running server's memory.
import type { Command } from "commander";
import { addConnectionFlags, connect, printResult, type ConnectionFlags } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";

/**
 * Adds the subcommands `load` and `unload`.
 *
 * @param models the command `hone models`
 */
export function addMemoryCommands(models: Command): void {
  const add = (verb: "load" | "unload", description: string): void => {
    addConnectionFlags(models.command(`${verb} <base_model>`).description(description))
      .option("--json", "print JSON")
      .action(async (name: string, flags: ConnectionFlags & JsonFlag) => {
        const state = await connect(flags).served[verb](name);
        printResult(state, `${state.base_model} is ${state.status ?? "not served"}`, flags);
      });
  };
  add("load", "Load a base model into the server's memory; the first request would load it too.");
  add("unload", "Free the memory of a base model that no request uses; the next request loads it again.");
}
