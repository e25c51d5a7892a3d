// Other vendors' clients, set up to call a recorded model. Their packages are optional peer dependencies, which are
// imported on first use. If a package is missing, the error contains its name.
import type { OpenAICompatibleProvider } from "@ai-sdk/openai-compatible";
import type { ChatOpenAI, ChatOpenAIFields } from "@langchain/openai";
import type OpenAI from "openai";
import { HoneError } from "../hone-error.ts";
import type { Fetch } from "./trajectory-fetch.ts";

/** Settings that every library accepts. */
export interface LibraryAccess {
  /** Base URL with `/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: string;
  readonly fetch: Fetch;
}

/** A model of `@openai/agents`. Its type is declared here because that package requires a newer Node. */
export interface AgentsModel {
  // oxlint-disable-next-line typescript/no-explicit-any -- of the package's own types, which are not here
  getResponse(request: any): Promise<any>;
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  getStreamedResponse(request: any): AsyncIterable<any>;
}

/** Returns a function that creates `openai` clients; it throws if the package is missing. */
export async function openAIClients(): Promise<(access: LibraryAccess) => OpenAI> {
  try {
    const { default: Client } = await import("openai");
    return ({ baseURL, apiKey, fetch }) => new Client({ baseURL, apiKey, fetch });
  } catch (error) {
    return () => {
      throw missing("openai", "trajectory.openai", error);
    };
  }
}

/**
 * Returns a provider of `@ai-sdk/openai-compatible`.
 *
 * @throws HoneError `missing_package` if the package is missing
 */
export async function aiSdkProvider({
  baseURL,
  apiKey,
  fetch,
}: LibraryAccess): Promise<OpenAICompatibleProvider> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible").catch((error: unknown) => {
    throw missing("@ai-sdk/openai-compatible", "trajectory.aiSdk()", error);
  });
  return createOpenAICompatible({ name: "hone", baseURL, apiKey, fetch, supportsStructuredOutputs: true });
}

/**
 * Returns a `ChatOpenAI` of `@langchain/openai`.
 *
 * @throws HoneError `missing_package` if the package is missing
 */
export async function langChainModel(
  { baseURL, apiKey, model, fetch }: LibraryAccess,
  fields: ChatOpenAIFields = {},
): Promise<ChatOpenAI> {
  const { ChatOpenAI: Client } = await import("@langchain/openai").catch((error: unknown) => {
    throw missing("@langchain/openai", "trajectory.langchain()", error);
  });
  const configuration = { ...fields.configuration, baseURL, fetch };
  return new Client({ model, useResponsesApi: false, ...fields, apiKey, configuration });
}

/**
 * Returns a model of `@openai/agents`.
 *
 * @throws HoneError `missing_package` if the package is missing
 */
export async function agentsModel(access: LibraryAccess): Promise<AgentsModel> {
  const name = "@openai/agents";
  const library = await (import(name) as Promise<AgentsLibrary>).catch((error: unknown) => {
    throw missing(name, "trajectory.agents()", error);
  });
  return new library.OpenAIChatCompletionsModel((await openAIClients())(access), access.model);
}

interface AgentsLibrary {
  readonly OpenAIChatCompletionsModel: new (client: OpenAI, model: string) => AgentsModel;
}

function missing(name: string, what: string, cause: unknown): HoneError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `${what} needs the package ${name}, which cannot be loaded (${reason.split("\n")[0]}). Install it: npm install ${name}`;
  return new HoneError({ code: "missing_package", message, cause });
}
