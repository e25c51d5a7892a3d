// `hone webhooks`: manage webhooks, list their deliveries, and replay them.
import type { Command } from "commander";
import type { Webhook, WebhookDelivery } from "../../client/api.ts";
import { addConnectionFlags, connect, printResult, printRows, type ConnectionFlags } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { findDeliveryId, findWebhook } from "./find-webhook.ts";

const about =
  "\nIdentify a webhook by its id, by a unique prefix of the id, or by its URL or the host of the URL.";

type Flags = ConnectionFlags & JsonFlag;

interface AddFlags extends Flags {
  readonly events: readonly Webhook["events"][number][];
  readonly project?: string;
  readonly type?: string;
  readonly recordsMax?: number;
}

export function addWebhooksCommand(program: Command): void {
  const webhooks = program
    .command("webhooks")
    .description("Manage webhooks: receivers of feedback and job events.")
    .addHelpText("after", about);
  const withFlags = (command: Command): Command => addConnectionFlags(command).option("--json", "print JSON");
  withFlags(webhooks.command("list", { isDefault: true }).description("List webhooks.")).action(
    async (flags: Flags) => {
      const found = await connect(flags).webhooks.list({}).all();
      printRows(
        found.map((webhook) => (flags.json === true ? { ...webhook } : listed(webhook))),
        { ...flags, columns: ["id", "url", "events", "state", "pending"] },
      );
    },
  );
  withFlags(
    webhooks
      .command("add <url>")
      .description(
        "Add a webhook; its secret is shown only once. The server's setting `webhooks.allowed` must allow the host of the URL.",
      ),
  )
    .option(
      "--events <events...>",
      "events to send: feedback.created, feedback.replaced, feedback.purged, training_ended, training_failed, learning.promoted, learning.refused, learning.rolled_back",
      ["feedback.created"],
    )
    .option("--project <entity/project>", "only events of this project")
    .option("--type <type>", "send feedback events only for records of this feedback type")
    .option("--records-max <count>", "maximum number of records in one event", Number)
    .action(addWebhook);
  withFlags(
    webhooks
      .command("enable <id>")
      .description("Enable a disabled webhook again. It gets only events that occur from now on."),
  ).action(async (id: string, flags: Flags) => {
    const client = connect(flags);
    const { id: found } = await findWebhook(client, id);
    printResult(await client.webhooks.change(found, { enabled: true }), `enabled ${found}`, flags);
  });
  withFlags(
    webhooks.command("deliveries <id>").description("List the deliveries of a webhook, newest first."),
  )
    .option("--state <state>", "only deliveries in this state: pending, delivered or failed")
    .option("--limit <count>", "maximum number of deliveries", Number, 20)
    .action(listDeliveries);
  withFlags(
    webhooks
      .command("replay <id> [delivery]")
      .description("Send a webhook's delivery again, or all deliveries that failed since a time."),
  )
    .option("--failed-since <time>", "send all deliveries again that failed at this time or later (ISO 8601)")
    .action(replay);
  withFlags(webhooks.command("delete <id>").description("Delete a webhook and its deliveries.")).action(
    async (id: string, flags: Flags) => {
      const client = connect(flags);
      const { id: found } = await findWebhook(client, id);
      printResult(await client.webhooks.delete(found), `deleted ${found}`, flags);
    },
  );
}

async function addWebhook(url: string, flags: AddFlags): Promise<void> {
  const webhook = await connect(flags).webhooks.create({
    url,
    events: [...flags.events],
    ...(flags.project === undefined ? {} : { project_id: flags.project }),
    ...(flags.type === undefined ? {} : { feedback_type: flags.type }),
    ...(flags.recordsMax === undefined ? {} : { records_max: flags.recordsMax }),
  });
  printResult(webhook, `${webhook.id}\n${webhook.secret}`, flags);
}

async function listDeliveries(
  id: string,
  flags: Flags & { readonly state?: WebhookDelivery["state"]; readonly limit: number },
): Promise<void> {
  const deliveries: WebhookDelivery[] = [];
  const query = flags.state === undefined ? {} : { state: flags.state };
  const limit = Math.max(1, Math.min(flags.limit, 100));
  const client = connect(flags);
  const { id: found } = await findWebhook(client, id);
  for await (const delivery of client.webhooks.deliveries(found, { ...query, limit })) {
    deliveries.push(delivery);
    if (deliveries.length >= flags.limit) break;
  }
  printRows(
    deliveries.map((delivery) => (flags.json === true ? { ...delivery } : listedDelivery(delivery))),
    {
      ...flags,
      columns: ["id", "created_at", "type", "state", "attempts", "last_attempt", "next_attempt_at"],
    },
  );
}

async function replay(
  id: string,
  delivery: string | undefined,
  flags: Flags & { readonly failedSince?: string },
): Promise<void> {
  const client = connect(flags);
  const { webhooks } = client;
  const { id: found } = await findWebhook(client, id);
  if (flags.failedSince === undefined) {
    const deliveryId = delivery === undefined ? null : await findDeliveryId(client, found, delivery);
    const answer = await webhooks.replay(found, { delivery_id: deliveryId });
    return printResult(answer, `${answer.replayed} deliveries will be resent`, flags);
  }
  const time = new Date(flags.failedSince);
  const since = Number.isNaN(time.getTime()) ? flags.failedSince : time.toISOString();
  let count = 0;
  for (let hasMore = true; hasMore;) {
    const answer = await webhooks.replay(found, { failed_since: since });
    count += answer.replayed;
    hasMore = answer.has_more;
  }
  printResult({ replayed: count }, `${count} deliveries will be resent`, flags);
}

function listed(webhook: Webhook): Readonly<Record<string, unknown>> {
  const { events, enabled, failing_since: failingSince, disabled_reason: reason } = webhook;
  const state = failingSince === null ? "working" : `failing since ${failingSince}`;
  return { ...webhook, events: events.join(" "), state: enabled ? state : `disabled: ${reason ?? ""}` };
}

function listedDelivery(delivery: WebhookDelivery): Readonly<Record<string, unknown>> {
  const last = delivery.attempts.at(-1);
  return {
    ...delivery,
    attempts: delivery.attempt_count,
    last_attempt: last === undefined ? null : (last.error ?? `status ${last.status}`),
  };
}
