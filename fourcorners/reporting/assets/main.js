import { start } from "./app.js";
import { makeCharts } from "./charts.js";
import { makeFigures } from "./figures.js";

start((data, state) => ({ ...makeFigures(data, state), ...makeCharts(data, state) }));
