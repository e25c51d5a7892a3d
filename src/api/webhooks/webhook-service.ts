// Creates, changes and deletes webhooks, and lists and replays their deliveries. It checks access and values, but sends
// nothing.
import { type Caller, mayReach, reachOf } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import type { Page, PageRequest } from "../../base/domain/page.ts";
import { parseProjectId } from "../../base/domain/project.ts";
import { notFound, quoted, ServiceError } from "../../base/domain/service-error.ts";
import type {
  Delivery,
  DeliveryState,
  Webhook,
  WebhookChoice,
  WebhookRequest,
} from "../../base/domain/webhooks/webhook.ts";
import type { WebhookStore } from "../../base/domain/webhooks/webhook-store.ts";
import type { EgressAllowlist } from "./egress-allowlist.ts";
import { nameResolver, type ResolveName } from "./resolve-name.ts";
import { addressesOf, UnreachableReceiver } from "./send-request.ts";
import type { WebhookSettings } from "./settings.ts";
import { isSecret, newSecret } from "./signature.ts";

export interface WebhookService {
  /** True if the server's operator allows at least one receiver. */
  readonly isAllowed: boolean;
  /**
   * Creates a webhook. Only the returned value has the secret in readable form.
   *
   * @throws ServiceError `invalid` if the URL is not allowed, `forbidden` if the caller may not use the entity,
   * `conflict` if the entity has the maximum number of webhooks, `overloaded` if too many of the entity's URLs are
   * being resolved
   */
  create(request: WebhookRequest, caller: Caller): Promise<Webhook>;
  /**
   * Finds a webhook by its id.
   *
   * @throws ServiceError `not_found` for an unknown webhook, or one that the caller may not access
   */
  find(id: string, caller: Caller): Promise<Webhook>;
  list(page: PageRequest, caller: Caller): Promise<Page<Webhook>>;
  /**
   * Changes the given fields of a webhook, and enables or disables it.
   *
   * @throws ServiceError `not_found` as {@link find}; the errors of {@link create}
   */
  change(
    id: string,
    choice: Partial<WebhookChoice> & { readonly isEnabled?: boolean },
    caller: Caller,
  ): Promise<Webhook>;
  delete(id: string, caller: Caller): Promise<void>;
  listDeliveries(
    id: string,
    filter: { readonly state: DeliveryState | null },
    page: PageRequest,
    caller: Caller,
  ): Promise<Page<Delivery>>;
  /**
   * Sends finished deliveries again.
   *
   * @returns the number of replayed deliveries, and whether more may be left to replay
   * @throws ServiceError `not_found` for an unknown delivery, `conflict` if the webhook is disabled or the delivery is
   * in progress
   */
  replay(
    id: string,
    which: { readonly deliveryId: string } | { readonly failedSince: Date },
    caller: Caller,
  ): Promise<{ readonly count: number; readonly hasMore: boolean }>;
}

export interface WebhookDependencies {
  readonly store: WebhookStore;
  readonly clock: Clock;
  readonly allowed: EgressAllowlist;
  readonly settings: WebhookSettings;
  /** Resolves receivers' names; by default with the machine's hosts file and name servers. */
  readonly resolve?: ResolveName;
}

const urlLengthMax = 2048;
/** Timeout in milliseconds for resolving a name. */
const resolveMs = 5000;

export function createWebhookService({
  store,
  clock,
  allowed,
  settings,
  resolve = nameResolver(),
}: WebhookDependencies): WebhookService {
  /** Number of URLs whose names are being resolved now, by entity. */
  const checking = new Map<string, number>();
  const checkUrl = async (text: string, { entity }: Caller): Promise<string> => {
    const url = readUrl(text, allowed);
    const { checksPerEntity } = settings;
    const count = checking.get(entity) ?? 0;
    if (count >= checksPerEntity)
      throw new ServiceError({
        code: "overloaded",
        message: `${checksPerEntity} URLs of ${quoted(entity)} are being resolved, the most at a time; try again when one of those requests has been answered.`,
      });
    checking.set(entity, count + 1);
    try {
      await checkAddresses(url, { allowed, clock, resolve });
    } finally {
      const left = (checking.get(entity) ?? 1) - 1;
      if (left === 0) checking.delete(entity);
      else checking.set(entity, left);
    }
    return url.href;
  };
  const find = async (id: string, caller: Caller): Promise<Webhook> => {
    const webhook = await store.find(id);
    if (webhook === null || !mayReach(caller, { entity: webhook.entity, project: null }))
      throw notFound("webhook", id);
    return webhook;
  };
  return {
    isAllowed: !allowed.isEmpty,
    create: async ({ entity: given, secret, ...choice }, caller) => {
      const entity = given ?? caller.entity;
      if (!mayReach(caller, { entity, project: null }))
        throw foreign("entity", `The entity ${quoted(entity)} is not your key's.`);
      if (secret !== null && !isSecret(secret))
        throw invalid(
          "secret",
          "secret must be whsec_ and the base64 of 24 to 64 bytes; leave it out for a fresh one",
        );
      checkProject(choice.projectId, entity);
      const url = await checkUrl(choice.url, caller);
      const webhook = {
        ...choice,
        url,
        id: newUuid7(clock),
        entity,
        secret: secret ?? newSecret(),
        createdAt: clock.now(),
      };
      await store.create(webhook, { countMax: settings.webhooksPerEntity });
      return { ...webhook, disabled: null, failingSince: null, pendingCount: 0 };
    },
    find,
    list: (page, caller) => store.list({ entity: reachOf(caller)?.entity ?? null }, page),
    change: async (id, { isEnabled, ...choice }, caller) => {
      const { entity } = await find(id, caller);
      if (choice.projectId !== undefined) checkProject(choice.projectId, entity);
      const url = choice.url === undefined ? {} : { url: await checkUrl(choice.url, caller) };
      let changed = await store.change(id, { ...choice, ...url });
      if (isEnabled === true) changed = await store.enable(id);
      if (isEnabled === false) {
        await store.disable(id, "It was disabled by a request.", clock.now());
        changed = await store.find(id);
      }
      if (changed === null) throw notFound("webhook", id);
      return changed;
    },
    delete: async (id, caller) => {
      await find(id, caller);
      await store.delete(id);
    },
    listDeliveries: async (id, filter, page, caller) => {
      await find(id, caller);
      return await store.listDeliveries(id, filter, page);
    },
    replay: async (id, which, caller) => {
      const { disabled } = await find(id, caller);
      if (disabled !== null)
        throw conflict(`The webhook is disabled: ${disabled.reason} Enable it first, with "enabled": true.`);
      const options = { at: clock.now(), countMax: settings.replayedMax };
      if ("failedSince" in which) {
        const count = await store.replay(id, which, options);
        return { count, hasMore: count === options.countMax };
      }
      const { deliveryId } = which;
      if ((await store.findDelivery(id, deliveryId)) === null) throw notFound("delivery", deliveryId);
      const count = await store.replay(id, { id: deliveryId }, options);
      if (count === 0)
        throw conflict("The delivery is in progress; it is retried automatically if it fails.");
      return { count, hasMore: false };
    },
  };
}

/**
 * Parses the URL of a receiver.
 *
 * @throws ServiceError `invalid` if webhooks cannot be sent to such a URL
 */
function readUrl(text: string, allowed: EgressAllowlist): URL {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol) || text.length > urlLengthMax)
    throw invalid(
      "url",
      `url is ${quoted(text)}; it must be an http or https URL of at most ${urlLengthMax} characters`,
    );
  if (url.username + url.password + url.hash !== "")
    throw invalid("url", "url has a user, a password or a fragment; put a secret into its path or query");
  if (allowed.isEmpty)
    throw invalid(
      "url",
      "This server sends no webhooks: its operator must list destinations in the setting webhooks.allowed (--webhooks-allowed)",
    );
  return url;
}

/**
 * Checks that the host of the URL has an allowed address.
 *
 * @throws ServiceError `invalid` if it has none
 */
async function checkAddresses(
  url: URL,
  {
    allowed,
    clock,
    resolve,
  }: Pick<WebhookDependencies, "allowed" | "clock"> & { readonly resolve: ResolveName },
): Promise<void> {
  const [late, over] = [new AbortController(), new AbortController()];
  clock.sleep(resolveMs, { signal: over.signal }).then(
    () =>
      late.abort(new UnreachableReceiver(`${url.hostname} was not resolved within ${resolveMs / 1000} s`)),
    () => undefined,
  );
  try {
    await addressesOf(url, allowed, { signal: late.signal, resolve });
  } catch (error) {
    if (!(error instanceof UnreachableReceiver)) throw error;
    throw invalid("url", error.message, error);
  } finally {
    over.abort();
  }
}

function checkProject(projectId: string | null, entity: string): void {
  if (projectId === null) return;
  const project = parseProjectId(projectId);
  if (project === null)
    throw invalid("projectId", `project_id is ${quoted(projectId)}; it must be <entity>/<project>`);
  if (project.entity !== entity)
    throw foreign(
      "projectId",
      `The project ${quoted(projectId)} belongs to another entity than the webhook.`,
    );
}

function invalid(field: string, message: string, cause?: unknown): ServiceError {
  const faults = [{ location: [field], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", message: `${message}.`, faults, cause });
}

function foreign(field: string, message: string): ServiceError {
  return new ServiceError({ code: "forbidden", faults: [{ location: [field], message, type: "forbidden" }] });
}

function conflict(message: string): ServiceError {
  return new ServiceError({ code: "conflict", message });
}
