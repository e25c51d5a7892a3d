// Saves a chart as a CSV file, or as a PNG picture with its title and the names of its runs.
import { saveBlob } from "../components/save-file.ts";
import { type Curve, lineStyle } from "./curve.ts";
import { curveCsv } from "./plot-data.ts";

export function saveCsv(curve: Curve): void {
  saveBlob(new Blob([curveCsv(curve)], { type: "text/csv" }), `${fileName(curve)}.csv`);
}

/** @param frame element that contains the canvas of the chart */
export function savePicture(curve: Curve, frame: HTMLElement | null): void {
  const plot = frame?.querySelector("canvas");
  if (frame === null || plot === null || plot === undefined) return;
  const style = getComputedStyle(frame);
  const scale = devicePixelRatio;
  const named = curve.lines.filter(({ name }) => name !== "");
  const [space, row, sample] = [12 * scale, 20 * scale, 24 * scale];
  const picture = document.createElement("canvas");
  picture.width = plot.width + 2 * space;
  picture.height = plot.height + row * (1 + named.length) + 2 * space;
  const context = picture.getContext("2d");
  if (context === null) return;
  context.fillStyle = style.getPropertyValue("--surface");
  context.fillRect(0, 0, picture.width, picture.height);
  context.fillStyle = style.getPropertyValue("--text");
  context.font = `600 ${14 * scale}px system-ui, sans-serif`;
  context.fillText(curve.label, space, space + row / 2);
  context.font = `${13 * scale}px system-ui, sans-serif`;
  for (const [index, { name, colour }] of named.entries()) {
    const { colour: property, dash } = lineStyle(colour);
    const base = space + row * (1.5 + index);
    context.strokeStyle = style.getPropertyValue(property);
    context.lineWidth = 3 * scale;
    context.setLineDash(dash.map((length) => length * scale));
    context.beginPath();
    context.moveTo(space, base - row / 4);
    context.lineTo(space + sample, base - row / 4);
    context.stroke();
    context.fillText(name, space + sample * 1.3, base);
  }
  context.drawImage(plot, space, space + row * (1 + named.length));
  picture.toBlob((blob) => {
    if (blob !== null) saveBlob(blob, `${fileName(curve)}.png`);
  });
}

/** Replaces characters that file systems refuse. */
function fileName({ label }: Curve): string {
  return label.replaceAll(/[^\w.-]+/g, "-");
}
