// View of a project's annotation queues and their progress.
import { useState } from "preact/hooks";
import type { AnnotationQueue, AnnotationQueueStats } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Empty } from "../components/empty.tsx";
import { useFormKey } from "../components/filter-form.tsx";
import { textIn } from "../components/forms/form-values.ts";
import { Icon } from "../components/icon.tsx";
import { useOpenProject } from "../components/forms/open-project.ts";
import { ProjectField, projectNamed } from "../components/forms/projects.tsx";
import { shortId } from "../components/short-id.ts";
import { Skeleton } from "../components/skeleton.tsx";
import { Shown, View, WideTable } from "../components/shown.tsx";
import { addressOf, go, place } from "../router.ts";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { NewQueue } from "./new-queue.tsx";

const everyMs = 5000;
/** Maximum number of queues that the view shows. */
const shownMax = 100;

interface ListedQueue {
  readonly queue: AnnotationQueue;
  readonly stats: AnnotationQueueStats | undefined;
}

export function Queues({ hone }: { readonly hone: Hone }) {
  const named = projectNamed(place.value.query.get("project") ?? "");
  const as = place.value.query.get("as") ?? "";
  const { key, submitting } = useFormKey(`${named} ${as}`);
  const opened = useOpenProject(
    hone,
    named,
    async (project_id, signal) =>
      (await hone.queues.list({ project_id }, { signal }).first()).data.length > 0,
  );
  const { projects } = opened;
  const project = opened.project ?? "";
  const loaded = useLoaded(
    async (signal) => {
      if (opened.project === null) return null;
      return project === "" ? [] : await queuesOf(hone, project, signal);
    },
    [hone, opened.project],
    everyMs,
  );
  const [isNew, setIsNew] = useState(false);
  return (
    <View
      title="Annotation queues"
      actions={
        may("judge") && (
          <button type="button" class="primary" onClick={() => setIsNew(true)}>
            <Icon of="plus" /> New queue
          </button>
        )
      }
    >
      <form
        class="filters"
        key={key}
        onSubmit={submitting((form) =>
          go(addressOf("queues", [], { project: textIn(form, "project"), as: textIn(form, "as") })),
        )}
      >
        <ProjectField projects={projects} value={project} />
        <label>
          Annotate as
          <input name="as" defaultValue={as} placeholder="the key's owner" maxLength={128} />
        </label>
        <button type="submit">Show</button>
      </form>
      <Shown loaded={loaded}>
        {(queues) =>
          queues === null ? (
            <Skeleton />
          ) : queues.length === 0 ? (
            loaded.failure === null && (
              <Empty icon="queue" title={`No annotation queues${project === "" ? "" : ` in ${project}`}`}>
                In a queue, people answer the same questions about many conversations, with one key per
                answer. Create a queue with
                <em> New queue</em>, or with <code>hone queues create</code>.
              </Empty>
            )
          ) : (
            <QueueTable queues={queues} project={project} as={as} />
          )
        }
      </Shown>
      {isNew && (
        <NewQueue
          hone={hone}
          projects={projects}
          project={project}
          onClose={() => setIsNew(false)}
          onMade={(made) =>
            go(addressOf("queues", [made.queue_id, "items"], { project: made.project_id, as }))
          }
        />
      )}
    </View>
  );
}

function QueueTable({
  queues,
  project,
  as,
}: {
  readonly queues: readonly ListedQueue[];
  readonly project: string;
  /** Name of the annotator; empty to annotate as the owner of the key. */
  readonly as: string;
}) {
  return (
    <WideTable label="Annotation queues">
      <thead>
        <tr>
          <th scope="col">queue</th>
          <th scope="col">questions</th>
          <th scope="col" class="number">
            items
          </th>
          <th scope="col" class="number">
            complete
          </th>
          <th scope="col" class="number">
            annotators per item
          </th>
          <th scope="col">completed by</th>
        </tr>
      </thead>
      <tbody>
        {queues.map(({ queue, stats }) => (
          <tr key={queue.id}>
            <td>
              <a href={addressOf("queues", [queue.id], { project, as })} title={queue.id} data-row>
                {queue.name === "" ? shortId(queue.id) : queue.name}
              </a>
            </td>
            <td>{queue.asked.map(({ name }) => name).join(", ")}</td>
            <td class="number">
              <a href={addressOf("queues", [queue.id, "items"], { project, as })}>
                {stats?.total_items.toLocaleString("en") ?? "–"}
              </a>
            </td>
            <td class="number">{stats?.completed_items.toLocaleString("en") ?? "–"}</td>
            <td class="number">{queue.annotators_per_item}</td>
            <td>{(stats?.annotators ?? []).map((one) => `${one.annotator} ${one.completed}`).join(", ")}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  );
}

async function queuesOf(
  hone: Hone,
  project_id: string,
  signal: AbortSignal,
): Promise<readonly ListedQueue[]> {
  const { data } = await hone.queues.list({ project_id }, { signal }).first();
  const queues = data.slice(0, shownMax);
  const stats = await hone.queues.stats({ project_id, queue_ids: queues.map(({ id }) => id) }, { signal });
  return queues.map((queue) => ({ queue, stats: stats.find((one) => one.queue_id === queue.id) }));
}
