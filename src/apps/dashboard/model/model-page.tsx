// Frame of each view that belongs to a model: the model's name, links that use the model, and the tabs.
import type { ComponentChildren } from "preact";
import type { ModelObject } from "../../client/api.ts";
import { View } from "../components/shown.tsx";
import { addressOf } from "../router.ts";
import { ModelActions } from "./model-actions.tsx";
import { type ModelTab, ModelTabs } from "./model-tabs.tsx";

export function ModelPage({
  id,
  model,
  tab,
  tools,
  children,
}: {
  readonly id: string;
  /** Null until the model has loaded. */
  readonly model: ModelObject | null;
  readonly tab: ModelTab;
  /** Buttons of the tab, before those of the model. */
  readonly tools?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <View
      title={model === null ? "Model" : `${model.project}/${model.name}`}
      path={[["Models", addressOf("models")]]}
      actions={
        <>
          {tools}
          {model !== null && <ModelActions model={model} />}
        </>
      }
    >
      <ModelTabs id={id} current={tab} />
      {children}
    </View>
  );
}
