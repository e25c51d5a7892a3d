// Finds an annotation queue by its name: `project/name` or `entity/project/name`. The queue's id may replace the last
// part.
import type { AnnotationQueue } from "../../client/api.ts";
import type { QueueName } from "../../client/calls/feedback/queue-calls.ts";
import type { Hone } from "../../client/hone.ts";
import { isUuid } from "../../../base/domain/random.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";

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
 * @throws ServiceError `not_found` if the project has no such queue, `conflict` if several queues have the name
 */
export async function findQueue(client: Hone, name: string): Promise<AnnotationQueue & QueueName> {
  const { project_id, last } = await splitName(client, name);
  if (isUuid(last)) return named(await client.queues.get({ project_id, queue_id: last }));
  const found: AnnotationQueue[] = [];
  for await (const queue of client.queues.list({ project_id, name: last }))
    if (queue.name === last) found.push(queue);
  const [queue, other] = found;
  if (queue === undefined)
    throw new ServiceError({
      code: "not_found",
      message: `The project ${project_id} has no annotation queue ${JSON.stringify(last)} (hone queues list ${project_id} lists them).`,
    });
  if (other !== undefined)
    throw new ServiceError({
      code: "conflict",
      message: `The project ${project_id} has ${found.length} annotation queues ${JSON.stringify(last)}; name one by its id: ${found.map(({ id }) => id).join(", ")}.`,
    });
  return named(queue);
}

function named(queue: AnnotationQueue): AnnotationQueue & QueueName {
  return { ...queue, queue_id: queue.id };
}
