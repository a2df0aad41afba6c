import { render } from "preact";
import { App } from "./app";
import { load, note } from "./load";
import { Model } from "./model";
import { startPrinting } from "./printing";
import { startTheme } from "./theme";
import { takeWords } from "./words";

startTheme();
startPrinting();
const root = document.getElementById("app")!;
load().then(
  (result) => {
    takeWords(result.words);
    root.replaceChildren();
    render(<App model={new Model(result)} />, root);
    document.documentElement.dataset["ready"] = "true";
    performance.mark("ready"); // bench/page reads these marks
  },
  (error: unknown) => {
    note.textContent = note.dataset["fails"]!.replace("{why}", () => (error instanceof Error ? error.message : String(error)));
  },
);
