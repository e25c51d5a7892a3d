// Adds selected chats to an annotation queue of their project. A chat with several choices becomes an item for each
// choice, because a judgement must say which choice it is about.
import type { StoredChatCompletion } from "../../../client/api.ts";
import type { Hone } from "../../../client/hone.ts";
import { may } from "../../session.ts";
import { useLoaded } from "../../use-loaded.ts";
import { Failure } from "../forms/failure.tsx";
import { useAction } from "../forms/use-action.ts";
import { inParts, inSteps } from "./steps.ts";
import { addedText, say } from "../status-message.tsx";

/** Maximum number of items that are added in one request. */
const addedMax = 500;

type Chat = Pick<StoredChatCompletion, "project_id" | "reference" | "finish_reasons">;

export function AddToQueue({ hone, chats }: { readonly hone: Hone; readonly chats: readonly Chat[] }) {
  const projects = new Set(chats.map(({ project_id: project }) => project));
  const [project] = projects;
  const queues = useLoaded(
    async (signal) =>
      project === undefined ? [] : (await hone.queues.list({ project_id: project }, { signal }).first()).data,
    [hone, project],
  );
  const { failure, isBusy, run } = useAction();
  if (!may("judge")) return null;
  const add = async (queueId: string): Promise<void> => {
    if (project === undefined) return;
    const queue = { project_id: project, queue_id: queueId };
    const added = await inSteps(inParts(chats.flatMap(referencesOf), addedMax), (part) =>
      hone.queues.add(queue, { call_ids: part }),
    );
    const sum = (name: "added_count" | "duplicates") => added.reduce((total, one) => total + one[name], 0);
    say(addedText(sum("added_count"), sum("duplicates")));
  };
  const isOff = isBusy || projects.size !== 1 || (queues.value ?? []).length === 0;
  return (
    <>
      <select
        aria-label="Add to queue"
        disabled={isOff}
        title={projects.size > 1 ? "The selected conversations belong to several projects." : undefined}
        value=""
        onChange={({ currentTarget }) => {
          const { value } = currentTarget;
          currentTarget.value = "";
          run(() => add(value));
        }}
      >
        <option value="">Add to queue …</option>
        {(queues.value ?? []).map(({ id, name }) => (
          <option key={id} value={id}>
            {name || id}
          </option>
        ))}
      </select>
      <Failure of={failure} />
    </>
  );
}

function referencesOf({ reference, finish_reasons: reasons }: Chat): readonly string[] {
  return reasons.length > 1
    ? reasons.map((_, index) => `${reference}/attr/choices/index/${index}`)
    : [reference];
}
