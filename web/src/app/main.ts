import 'uplot/dist/uPlot.min.css';
import { mount, type App } from './app';

declare global {
  interface Window {
    /** For the browser tests and the console. */
    attune: App;
  }
}

window.attune = mount();
