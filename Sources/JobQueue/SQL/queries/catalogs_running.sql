SELECT id FROM catalog WHERE state = 'running' ORDER BY id
