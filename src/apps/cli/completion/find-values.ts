// The values that a server, or the data folder, has now for the words of a command line. A server that does not answer within
// a fraction of a second, or refuses, has none: whoever presses a key waits.
import { connect, type ConnectionFlags } from "../connection.ts";
import type { Candidate, CompletionOptions } from "./complete-words.ts";

const waitMs = 400;

type Find = CompletionOptions["find"];

type Finders = { readonly [Source in Parameters<Find>[0]]: () => Promise<readonly Candidate[]> };

/** @param words of the command line, whose own flags say which server is asked */
export function findValues(words: readonly string[]): Find {
  const flags = { ...flagIn(words, "url"), ...flagIn(words, "key"), ...flagIn(words, "data") };
  return async (source) => {
    try {
      return await findersFor(flags)[source]();
    } catch {
      return [];
    }
  };
}

function findersFor(flags: ConnectionFlags): Finders {
  const client = connect(flags);
  const signal = AbortSignal.timeout(waitMs);
  const trained = async (): Promise<readonly Candidate[]> =>
    (await client.models.list({}, { signal }).all()).map(({ project, name, base_model: base }) => ({
      value: `${project}/${name}`,
      about: `over ${base}`,
    }));
  return {
    trained,
    models: async () => {
      const [bases, others] = await Promise.all([client.served.bases({ signal }), trained()]);
      return [...bases.map((value) => ({ value, about: "base model" })), ...others];
    },
    versions: async () =>
      (await client.served.list({ signal })).flatMap(({ id, parent }) =>
        /:step\d+$/.test(id) ? [{ value: id, about: `over ${parent}` }] : [],
      ),
    jobs: async () =>
      (await client.jobs.list({}, { signal }).all()).map(({ id, kind, state }) => ({
        value: id,
        about: `${kind}, ${state}`,
      })),
    added: () => addedModels(flags),
    webhooks: async () =>
      (await client.webhooks.list({}, { signal }).all()).map(({ id, url }) => ({ value: id, about: url })),
  };
}

async function addedModels({ data }: ConnectionFlags): Promise<readonly Candidate[]> {
  const { listAddedModels } = await import("../../server/library/model-commands.ts");
  return listAddedModels(data === undefined ? {} : { data }).map(({ name, source }) => ({
    value: name,
    about: `from ${source}`,
  }));
}

function flagIn<Name extends string>(
  words: readonly string[],
  name: Name,
): { readonly [N in Name]?: string } {
  const flag = `--${name}`;
  const index = words.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`));
  if (index < 0) return {};
  const value = words[index].includes("=") ? words[index].slice(flag.length + 1) : words[index + 1];
  // The one key of it is the name's.
  return value === undefined ? {} : ({ [name]: value } as { readonly [N in Name]: string });
}
