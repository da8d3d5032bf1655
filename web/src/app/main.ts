import 'uplot/dist/uPlot.min.css';
import { mount } from './mount';

window.attune = mount();
