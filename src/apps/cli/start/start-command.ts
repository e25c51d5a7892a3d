// `hone start`: runs a coding agent with a model of the server, for interactive use.
import { Argument, type Command } from "commander";
import { invalid, quoted } from "../../../base/domain/service-error.ts";
import { programEnvironment } from "../../server/config.ts";
import type { ServedModel } from "../../client/api.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { runProgram } from "../rollouts/run-command.ts";
import { codingAgents, type AgentProgram, type CodingAgent } from "./coding-agents.ts";

interface StartFlags extends ConnectionFlags {
  readonly model?: string;
}

const about = `
Arguments after -- are passed to the agent. Its prompts are long: use a model with a context of at least 32,768 tokens
that supports tools (hone models fit). To train a model on what an agent does, use hone rollout run.`;

export function addStartCommand(program: Command): void {
  addConnectionFlags(
    program
      .command("start")
      .description("Start a coding agent (Claude Code, Codex or OpenCode) that uses a model of the server."),
  )
    .addArgument(new Argument("<agent>", "the agent").choices(Object.keys(codingAgents)))
    .argument("[arguments...]", "arguments of the agent, after --")
    .option("--model <name>", "model that answers the agent (default: the server's default model)")
    .addHelpText("after", about)
    .action(async (agent: CodingAgent, words: readonly string[], flags: StartFlags) => {
      const hone = connect(flags);
      const { id, max_model_len: contextLength } = servedModel(await hone.served.list(), flags.model);
      const access = { address: hone.baseUrl, key: hone.apiKey, model: id, contextLength };
      const started = codingAgents[agent](access);
      process.stderr.write(
        `${started.command} uses ${id} (context ${contextLength ?? "unknown"}) at ${hone.baseUrl}\n`,
      );
      process.exitCode = await run(started, words);
    });
}

/** Returns the named model, or the first of the list, which is the default model. */
function servedModel(models: readonly ServedModel[], name: string | undefined): ServedModel {
  const found = name === undefined ? models[0] : models.find(({ id }) => id === name);
  if (found !== undefined) return found;
  const names = models.slice(0, 20).map(({ id }) => id);
  throw invalid(
    `The server has no model ${quoted(name ?? "")}. Its models are ${names.join(", ")} (hone models).`,
  );
}

/** Runs the agent to its end, and returns the exit status. The agent handles Ctrl+C itself. */
async function run(
  { command, words, environment, install }: AgentProgram,
  more: readonly string[],
): Promise<number> {
  const ignore = (): void => undefined;
  process.on("SIGINT", ignore);
  try {
    const { status } = await runProgram([command, ...words, ...more], {
      environment: { ...programEnvironment(), ...environment },
      output: "pass",
      signal: new AbortController().signal,
    });
    return status ?? 1;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    throw invalid(`The program ${command} was not found. Install it with: ${install}`);
  } finally {
    process.off("SIGINT", ignore);
  }
}
