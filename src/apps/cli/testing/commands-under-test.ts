// For tests: runs commands against a server with in-memory stores and a fake chat service, and creates jobs for them.
import { type TestContext } from "node:test";
import { bearer, fakeServer, keys, registeredModel } from "../../../api/http/testing/fake-server.ts";
import { commandProcess } from "./command-process.ts";

export type Server = Awaited<ReturnType<typeof fakeServer>>;

export interface Run {
  /** Standard output of each command, followed by its exit status. */
  readonly outputs: readonly string[];
  readonly errors: string;
}

export const runOne = commandProcess();

/** Runs command lines one after another. Only the last one gets the input. */
export async function run(
  commands: readonly (readonly string[])[],
  environment: Readonly<Record<string, string>>,
  input?: string,
): Promise<Run> {
  const outputs: string[] = [];
  let allErrors = "";
  for (const [index, words] of commands.entries()) {
    const isLast = index === commands.length - 1;
    const given = isLast && input !== undefined ? { environment, input } : { environment };
    const { output, errors, status } = await runOne(words, given);
    outputs.push(`${output}status ${status}`);
    allErrors += errors;
  }
  return { outputs, errors: allErrors };
}

/**
 * Starts a server with a trained model. Returns the environment variables that give commands access to it as a member.
 */
export async function listening(t: TestContext) {
  const server = await fakeServer();
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  return {
    server,
    modelId: await registeredModel(server),
    member: { HONE_URL: url, HONE_API_KEY: keys.member },
  };
}

export async function submit(server: Server, modelId: string, config: object = {}): Promise<string> {
  const answer = await server.ask({
    method: "POST",
    url: "/v1/preview/training-jobs",
    headers: { authorization: bearer(keys.member) },
    payload: { model_id: modelId, trajectory_groups: [], experimental_config: config },
  });
  return answer.json<{ id: string }>().id;
}
