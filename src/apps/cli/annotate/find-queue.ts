// Finds an annotation queue by its name: `project/name` or `entity/project/name`. The queue's id, or the beginning of
// the id, may replace the last part.
import type { AnnotationQueue } from "../../client/api.ts";
import type { QueueName } from "../../client/calls/feedback/queue-calls.ts";
import type { Hone } from "../../client/hone.ts";
import { isUuid } from "../../../base/domain/random.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import { findById } from "../names/find-by-id.ts";

/** Returns `entity/project`. If the name has no entity, uses that of the API key. */
export async function projectNamed(client: Hone, name: string): Promise<string> {
  if (name.includes("/")) return name;
  return `${(await client.server.key()).entity}/${name}`;
}

/**
 * Splits a queue name into its project and its last part.
 *
 * @throws ServiceError `invalid` for a name without a project
 */
export async function splitName(
  client: Hone,
  name: string,
): Promise<{ readonly project_id: string; readonly last: string }> {
  const parts = name.split("/");
  const last = parts.pop() ?? "";
  if (parts.length === 0 || parts.length > 2 || last === "" || parts.includes(""))
    throw invalid(
      `${JSON.stringify(name)} is not a queue name; write project/queue, or entity/project/queue.`,
    );
  return { project_id: await projectNamed(client, parts.join("/")), last };
}

/**
 * Returns the queue with a name, as accepted by {@link splitName}.
 *
 * @throws ServiceError `not_found` if the project has no such queue, `invalid` if several may be meant
 */
export async function findQueue(client: Hone, name: string): Promise<AnnotationQueue & QueueName> {
  const { project_id, last } = await splitName(client, name);
  if (isUuid(last)) return named(await client.queues.get({ project_id, queue_id: last }));
  const queue = await findById(last, client.queues.list({ project_id }), {
    noun: "annotation queue",
    list: `hone queues list ${project_id}`,
    isNamed: ({ name: own }) => own === last,
  });
  return named(queue);
}

function named(queue: AnnotationQueue): AnnotationQueue & QueueName {
  return { ...queue, queue_id: queue.id };
}
