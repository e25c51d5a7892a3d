// View of the base models: state, memory, device and files of each, and buttons that load and unload it.
import type { ServedModel, ServerSummary } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Command } from "../components/empty.tsx";
import { ActionButton } from "../components/forms/action-button.tsx";
import { byteText, shortNumber } from "../components/numbers.ts";
import { Facts, Shown, View } from "../components/shown.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { summary } from "../live.ts";
import { BaseCard } from "../overview/bases.tsx";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";

type Base = ServerSummary["bases"][number];

export function BasesView({ hone }: { readonly hone: Hone }) {
  const now = summary.value;
  return (
    <View
      title="Base models"
      lead="The models that answer requests and that training starts from. The server loads a model for its first request. If memory is short, it unloads the model that was used least recently."
    >
      {now === null ? (
        <Skeleton />
      ) : (
        <section class="base-cards" aria-label="Base models">
          <h2 class="hidden">Served models</h2>
          {now.bases.map((base) => (
            <BaseDetails key={base.name} hone={hone} base={base} />
          ))}
        </section>
      )}
      <section class="card" aria-labelledby="add">
        <h2 id="add">Add a base model</h2>
        <p class="muted">
          Run this command on the server's machine. It downloads a model from Hugging Face, or copies a folder
          or a GGUF file.
        </p>
        <Command text="npx hone models add HuggingFaceTB/SmolLM2-135M-Instruct" />
      </section>
    </View>
  );
}

function BaseDetails({ hone, base }: { readonly hone: Hone; readonly base: Base }) {
  const model = useLoaded((signal) => hone.served.get(base.name, { signal }), [hone, base.name, base.state]);
  const [state] = base.state.split(":");
  return (
    <BaseCard base={base}>
      <Shown loaded={model}>{(served) => <Facts of={factsOf(served)} />}</Shown>
      {may("administer") && (state === "unloaded" || state === "failed") && (
        <ActionButton
          act={() => hone.served.load(base.name).then(() => refresh(hone))}
          done={`${base.name} loaded.`}
        >
          Load {base.name}
        </ActionButton>
      )}
      {may("administer") && state === "loaded" && (
        <ActionButton
          class="plain"
          asks={{
            title: `Unload ${base.name}?`,
            says: "The memory of the model becomes free. Its next request waits until the model is loaded again.",
            button: "Unload",
          }}
          act={() => hone.served.unload(base.name).then(() => refresh(hone))}
          done={`${base.name} unloaded.`}
        >
          Unload {base.name}
        </ActionButton>
      )}
    </BaseCard>
  );
}

/** Reads the states of the models at once, because the stream of summaries is some seconds behind. */
async function refresh(hone: Hone): Promise<void> {
  summary.value = await hone.server.summary();
}

function factsOf({ status, files, device, max_model_len: length, exact }: ServedModel) {
  return [
    ["memory when loaded", status === null ? "–" : byteText(status.memory_bytes)],
    ["weights on disk", files === null ? "–" : byteText(files.weight_bytes)],
    ["license", files?.license ?? "–"],
    ["device", device === null ? "–" : device.value],
    ["context length", length === null ? "–" : `${shortNumber(length)} tokens`],
    ["exact answers", exact === null ? "–" : exact ? "yes" : "no"],
  ] as const;
}
